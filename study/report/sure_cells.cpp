#include "study/report/sure_cells.h"

#include <fmt/format.h>

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

std::string outside_sentence(const std::vector<std::string>& outside) {
  return outside.empty() ? "" : "Outside of everything measured: " + join(outside) + ".";
}

}  // namespace shardsim
