#include "validate/comparison/comparison_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/timeline/timeline_figures.h"

namespace shardsim {
namespace {

constexpr double kNanosecondInMs = 1e-6;

}  // namespace

std::vector<ComparedOperation> worst_operations(const TimelineComparison& comparison, std::size_t count) {
  std::vector<ComparedOperation> worst = comparison.operations;
  std::erase_if(worst, [](const ComparedOperation& row) { return row.time.off_ms() < kNanosecondInMs; });
  std::stable_sort(worst.begin(), worst.end(), [](const ComparedOperation& a, const ComparedOperation& b) {
    return a.time.off_ms() > b.time.off_ms();
  });
  if (worst.size() > count) worst.resize(count);
  return worst;
}

bool is_judged(const ComparedOperation& operation, bool is_class) {
  if (operation.share < kJudgedShare || operation.matched_by_class) return false;
  return is_class || is_communication(operation.op_class);
}

std::vector<std::string> outside_tolerance(const TimelineComparison& comparison, double tolerance_pct) {
  std::vector<std::string> outside;
  const auto judge = [&](const std::string& name, const ComparedTime& time) {
    const std::optional<double> error = time.error_pct();
    if (!error) {
      outside.push_back(fmt::format("{} {} at 0 ms", name, comparison.second));
    } else if (std::abs(*error) > tolerance_pct) {
      outside.push_back(fmt::format("{} {:+.1f} %", name, *error));
    }
  };
  judge("iteration", comparison.iteration);
  for (const ComparedOperation& row : comparison.classes)
    if (is_judged(row, true)) judge(row.name, row.time);
  for (const ComparedOperation& row : comparison.operations)
    if (is_judged(row, false)) judge(row.name, row.time);
  for (const LoneOperation& lone : comparison.alone)
    if (lone.share >= kJudgedShare)
      outside.push_back(fmt::format("{} only {}", lone.name, lone.predicted ? comparison.first : comparison.second));
  return outside;
}

}  // namespace shardsim
