#include "validate/microbench/position_draw.h"

#include <algorithm>

namespace shardsim {
namespace {

constexpr std::uint64_t kCuts = 4096;

}  // namespace

PositionDraw::PositionDraw(const AccessDistribution& access) : access_(access) {
  for (std::uint64_t i = 0; i <= kCuts; ++i) {
    const double mass = access.total() * static_cast<double>(i) / static_cast<double>(kCuts);
    const std::uint64_t position = access.position_at(mass);
    cuts_.push_back({position, access.prefix(position), access.probability(position)});
  }
  for (std::size_t i = 0; i < kCuts; ++i)
    if (cuts_[i].each != cuts_[i + 1].each) cuts_[i].each = 0;
}

std::uint64_t PositionDraw::draw(Rng& rng) const {
  const double share = rng.uniform() * static_cast<double>(kCuts);
  const auto at = static_cast<std::size_t>(share);
  const Cut& cut = cuts_[at];
  const std::uint64_t low = cut.position, high = cuts_[at + 1].position;
  const double mass = access_.total() * share / static_cast<double>(kCuts);
  if (cut.each > 0) {
    const double beyond = std::max((mass - cut.before) / cut.each, 0.0);
    return std::min(low + static_cast<std::uint64_t>(beyond), high);
  }
  return access_.position_between(low, high, mass);
}

}  // namespace shardsim
