#include "study/result/case_figures.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace shardsim {

MemoryNeed memory_need(const CaseResult& result) {
  MemoryNeed need;
  for (const std::int64_t bytes : result.memory_per_rank) need.by_model = std::max(need.by_model, bytes);
  if (!result.memory_profile.ranks.empty()) need.peak = result.memory_profile.highest().bytes();
  need.buffers_counted = result.buffers_counted;
  return need;
}

std::vector<double> row_placements_ms(const CaseResult& result) {
  std::vector<double> ms;
  for (const double log_time : result.placement_log_times) ms.push_back(result.iteration_ms * std::exp(log_time));
  return ms;
}

double expected_ms(const CaseResult& result) {
  if (result.placement_log_times.empty()) return result.iteration_ms;
  return result.iteration_ms * std::exp(mean(result.placement_log_times));
}

double expected_rate(const CaseResult& result) {
  return result.samples_per_s * result.iteration_ms / expected_ms(result);
}

OrderKey order_key(double time, double reach, std::int64_t memory) {
  constexpr double kPerUnit = 1e9;
  return {time > 0 ? std::llround(std::log(time) * kPerUnit) : 0, reach, memory};
}

OrderKey order_key(double time, const CaseResult& result) {
  const std::optional<Interval>& range = result.interval;
  return order_key(time, range ? range->high_ms / result.iteration_ms : 1, memory_need(result).judged());
}

bool is_without_limit(const CaseResult& result) {
  return result.name.ends_with(kWithoutLimit) && !result.relative_to.empty();
}

bool fits(const CaseResult& result) {
  return fits(memory_need(result), result.memory_capacity);
}

}  // namespace shardsim
