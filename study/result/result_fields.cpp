#include "study/result/result_fields.h"

#include <algorithm>

namespace shardsim {
std::string operation_at(const CaseResult& result, const MemoryPeak& peak) {
  const auto op = static_cast<std::size_t>(std::max(peak.op, 0));
  return peak.op < 0 || op >= result.timeline.ops.size() ? "" : result.timeline.ops[op].name;
}

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

}  // namespace shardsim
