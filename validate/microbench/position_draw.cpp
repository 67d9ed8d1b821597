#include "validate/microbench/position_draw.h"

#include <algorithm>
#include <cmath>

namespace shardsim {
namespace {

constexpr double kAlike = 0.995;      // least over largest probability in a stretch
constexpr double kNegligible = 1e-9;  // of all accesses

// Between the first position of a range and its last one, where popularity has fallen half as often.
std::uint64_t middle_of(std::uint64_t first, std::uint64_t end) {
  const double mean = std::sqrt((static_cast<double>(first) + 1) * static_cast<double>(end));
  return std::clamp(static_cast<std::uint64_t>(mean), first + 1, end - 1);
}

}  // namespace

PositionDraw::PositionDraw(const AccessDistribution& access) : mass_(access.total()) {
  cut(access, 0, access.rows());
  set_guides();
}

// The stretches of [first, end), in order. Popularity does not rise, so that a range is as even as its ends are.
void PositionDraw::cut(const AccessDistribution& access, std::uint64_t first, std::uint64_t end) {
  const double most = access.probability(first), least = access.probability(end - 1), sum = access.sum(first, end);
  if (!(most > 0)) return;
  const bool is_even = end - first == 1 || least >= kAlike * most || (least > 0 && sum <= kNegligible * mass_);
  if (!is_even) {
    const std::uint64_t middle = middle_of(first, end);
    cut(access, first, middle);
    return cut(access, middle, end);
  }
  add({first, end - first, access.prefix(first), least == most ? most : sum / static_cast<double>(end - first)});
}

void PositionDraw::add(const Stretch& stretch) {
  if (!stretches_.empty()) {
    Stretch& last = stretches_.back();
    if (last.each == stretch.each && last.first + last.positions == stretch.first) {
      last.positions += stretch.positions;
      return;
    }
  }
  stretches_.push_back(stretch);
}

void PositionDraw::set_guides() {
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i <= IdLaw::kGuides; ++i) {
    const double mass = mass_ * (static_cast<double>(i) / IdLaw::kGuides);
    while (at + 1 < stretches_.size() && stretches_[at + 1].before <= mass) ++at;
    guides_.push_back(at);
  }
}

}  // namespace shardsim
