#include <algorithm>

#include "study/report/charts/chart_data.h"

namespace shardsim {
namespace {

void add_bar(DataSet& set, const CaseResult& item, const char* what, const std::vector<std::int64_t>& ranks) {
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end());
  const auto capacity = static_cast<double>(item.memory_capacity);
  set.rows.push_back({item.name, what, static_cast<double>(*most) / kGiB, static_cast<double>(*least) / kGiB,
                      capacity / kGiB, 100 * static_cast<double>(*most) / capacity});
}

void add_part(DataSet& set, const CaseResult& item, const char* what, std::string_view part, double bytes) {
  if (bytes <= 0) return;
  set.rows.push_back({item.name, what, std::string(part), static_cast<double>(set.rows.size()), bytes / kGiB,
                      static_cast<double>(item.memory_capacity) / kGiB});
}

}  // namespace

DataSet memory_bars(const StudyResult& study) {
  DataSet set{"memory", {"case", "what", "memory_gib", "smallest_gib", "capacity_gib", "share_pct"}, {}};
  for (const CaseResult& item : study.cases) {
    if (item.memory_per_rank.empty() || item.memory_capacity <= 0) continue;
    add_bar(set, item, "memory model", item.memory_per_rank);
    std::vector<std::int64_t> peaks;
    for (const MemoryPeak& peak : item.memory_profile.ranks) peaks.push_back(peak.bytes());
    if (!peaks.empty()) add_bar(set, item, "simulated", peaks);
  }
  return set;
}

DataSet memory_at_peak(const StudyResult& study) {
  DataSet set{"memory", {"case", "what", "part", "order", "size_gib", "capacity_gib"}, {}};
  for (const CaseResult& item : study.cases) {
    if (item.memory_profile.ranks.empty()) continue;
    const MemoryPeak& peak = item.memory_profile.highest();
    for (std::size_t part = 0; part < kMemoryParts; ++part) {
      add_part(set, item, "simulated", kMemoryPartNames[part], static_cast<double>(peak.amounts.bytes[part]));
    }
    const PlacementMemory& estimate = item.estimated_memory;
    add_part(set, item, "memory model", "tables",
             estimate.static_bytes - estimate.optimizer_bytes - estimate.cache_bytes);
    add_part(set, item, "memory model", "optimizer", estimate.optimizer_bytes);
    add_part(set, item, "memory model", "cache", estimate.cache_bytes);
    add_part(set, item, "memory model", "buffers", estimate.dynamic_bytes);
  }
  return set;
}

}  // namespace shardsim
