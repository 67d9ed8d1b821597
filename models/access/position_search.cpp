#include "models/access/position_search.h"

#include <algorithm>

namespace shardsim {
namespace {

constexpr std::int64_t kMostCuts = std::int64_t{1} << 20;
constexpr std::int64_t kSearchesPerCut = 4;  // a cut costs about as much as it saves over so many searches

}  // namespace

PositionSearch::PositionSearch(const AccessDistribution& access, double begin, double end, std::int64_t searches)
    : access_(access), begin_(begin) {
  const std::int64_t steps = std::clamp<std::int64_t>(searches / kSearchesPerCut, 1, kMostCuts);
  step_ = (end - begin) / static_cast<double>(steps);
  cuts_.resize(static_cast<std::size_t>(steps) + 1);
  cuts_.front() = access.position_at(begin);
  cuts_.back() = access.position_at(end);
  cut(0, cuts_.size() - 1);
}

// The cuts between two that are known, halved again and again: each is searched for between its neighbours alone.
void PositionSearch::cut(std::size_t first, std::size_t last) {
  if (last - first < 2) return;
  const std::size_t middle = first + (last - first) / 2;
  cuts_[middle] = access_.position_between(cuts_[first], cuts_[last], mass_of(middle));
  cut(first, middle);
  cut(middle, last);
}

std::uint64_t PositionSearch::position_at(double mass) const {
  if (!(step_ > 0)) return access_.position_at(mass);
  // The mass of a cut is rounded, and so is the quotient: the neighbours on both sides hold the mass for sure.
  const auto last = static_cast<double>(cuts_.size() - 1);
  const auto at = static_cast<std::size_t>(std::clamp((mass - begin_) / step_, 0.0, last));
  const std::size_t low = at > 0 ? at - 1 : 0, high = std::min(at + 2, cuts_.size() - 1);
  return access_.position_between(cuts_[low], cuts_[high], mass);
}

}  // namespace shardsim
