#include "study/result/result_fields.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace shardsim {

std::vector<NamedTime> collective_times(const std::vector<NamedTime>& times) {
  std::vector<NamedTime> collectives;
  std::ranges::copy_if(times, std::back_inserter(collectives),
                       [](const NamedTime& time) { return is_communication(time.op_class); });
  return collectives;
}

void add_collective_times(std::vector<NamedTime>& times, const std::vector<NamedTime>& collectives) {
  times.insert(times.end(), collectives.begin(), collectives.end());
}

std::vector<ComputeTime> compute_times(const std::vector<NamedTime>& times) {
  std::vector<ComputeTime> compute;
  for (const NamedTime& time : times) {
    if (!is_communication(time.op_class) && !is_host(time.op_class))
      compute.push_back({time.name, time.op_class, time.span_ms});
  }
  return compute;
}

void add_compute_times(std::vector<NamedTime>& times, const std::vector<ComputeTime>& compute) {
  for (const ComputeTime& each : compute) {
    NamedTime time;
    time.name = each.name;
    time.op_class = each.op_class;
    time.span_ms = each.span_ms;
    times.push_back(time);
  }
}

std::string operation_at(const CaseResult& result, const MemoryPeak& peak) {
  const auto op = static_cast<std::size_t>(std::max(peak.op, 0));
  return peak.op < 0 || op >= result.timeline.ops.size() ? "" : result.timeline.ops[op].name;
}

std::optional<HighWater> high_water_of(const CaseResult& result) {
  const MemoryProfile& profile = result.memory_profile;
  if (profile.ranks.empty()) return std::nullopt;
  HighWater high;
  for (const MemoryPeak& each : profile.ranks) high.per_rank_bytes.push_back(each.bytes());
  high.rank = profile.fullest();
  high.at_us = profile.ranks[high.rank].at_us;
  high.operation = operation_at(result, profile.ranks[high.rank]);
  high.parts = profile.ranks[high.rank].amounts;
  high.estimate = result.estimated_memory;
  const std::int64_t over = high.parts.total() - result.memory_capacity;
  if (over > 0 && result.memory_capacity > 0) high.over_capacity = over;
  return high;
}

void set_high_water(CaseResult& result, const HighWater& high) {
  std::vector<MemoryPeak>& ranks = result.memory_profile.ranks;
  ranks.resize(high.per_rank_bytes.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].amounts[MemoryPart::tables] = high.per_rank_bytes[rank];
  }
  if (high.rank < ranks.size()) {
    ranks[high.rank].amounts = high.parts;
    ranks[high.rank].at_us = high.at_us;
    ranks[high.rank].op = high.operation.empty() ? -1 : 0;
  }
  if (!high.operation.empty()) result.timeline.ops = {{high.operation, ""}};
  result.estimated_memory = high.estimate;
}

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
