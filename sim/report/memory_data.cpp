#include "sim/report/chart_data.h"

namespace shardsim {
namespace {

void add(DataSet& set, const CaseResult& item, const char* what, std::string_view part, double bytes) {
  if (bytes <= 0) return;
  set.rows.push_back({item.name, what, std::string(part), static_cast<double>(set.rows.size()), bytes / kGiB});
}

}  // namespace

DataSet memory_at_peak(const StudyResult& study) {
  DataSet set{"memory", {"case", "what", "part", "order", "size_gib"}, {}};
  for (const CaseResult& item : study.cases) {
    if (item.memory_profile.ranks.empty()) continue;
    const MemoryPeak& peak = item.memory_profile.ranks[item.memory_profile.fullest()];
    for (std::size_t part = 0; part < kMemoryParts; ++part) {
      add(set, item, "simulated", kMemoryPartNames[part], static_cast<double>(peak.amounts.bytes[part]));
    }
    const PlacementMemory& estimate = item.estimated_memory;
    add(set, item, "memory model", "tables", estimate.static_bytes - estimate.optimizer_bytes - estimate.cache_bytes);
    add(set, item, "memory model", "optimizer", estimate.optimizer_bytes);
    add(set, item, "memory model", "cache", estimate.cache_bytes);
    add(set, item, "memory model", "buffers", estimate.dynamic_bytes);
  }
  return set;
}

}  // namespace shardsim
