#include "study/report/sure_cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document/cells.h"
#include "base/text.h"

namespace shardsim {
namespace {

// An end of an interval.
std::string rough(double ms) {
  if (ms >= 10) return fmt::format("{:.0f}", ms);
  return ms >= 1 ? fmt::format("{:.1f}", ms) : fmt::format("{:.2g}", ms);
}

}  // namespace

std::string interval_cell(const Interval& interval) {
  return fmt::format("{}-{}{}", rough(interval.low_ms), rough(interval.high_ms), interval.outside.empty() ? "" : "?");
}

std::string chance_cell(double chance) {
  return chance > 0.999 ? "> 99.9" : fixed(100 * chance, 1);
}

std::string regret_cell(double percent) {
  return percent < 0.05 ? "< 0.05" : fixed(percent, percent < 10 ? 2 : 1);
}

std::string doubt_sentence(const std::vector<const Interval*>& intervals, std::string_view more) {
  constexpr std::size_t kFewDoubts = 2;
  std::vector<std::string> doubts;
  for (const Interval* interval : intervals) {
    if (interval->outside.empty()) continue;
    std::string doubt = join(interval->outside);
    if (std::ranges::find(doubts, doubt) == doubts.end()) doubts.push_back(std::move(doubt));
  }
  if (doubts.empty()) return "";
  if (doubts.size() > kFewDoubts) doubts = {doubts.front(), std::string(more)};
  return fmt::format("?: not counted in the range: {}.", join(doubts, "; "));
}

std::string outside_sentence(const std::vector<std::string>& outside) {
  if (outside.empty()) return "";
  // What constants were chosen by was measured, and is yet no witness for them.
  const bool chosen = std::ranges::any_of(
      outside, [](const std::string& each) { return each.ends_with(" were used to choose constants"); });
  if (chosen) return fmt::format("Without an independent check: {}.", join(outside));
  const bool own = std::ranges::any_of(
      outside, [](const std::string& each) { return each.starts_with("no other ") || each.starts_with("all other "); });
  return fmt::format("Outside of everything measured{}: {}.", own ? " elsewhere" : "", join(outside));
}

}  // namespace shardsim
