#include "sim/engine/store_time.h"

#include <algorithm>
#include <array>

namespace shardsim {
namespace {

constexpr std::size_t kResources = 3;           // bytes of SSDs, their reads, bytes of host memory
using Demand = std::array<double, kResources>;  // seconds of each

Demand demand_of(const Op& op, std::size_t position, const ClusterSpec& spec) {
  const SsdSpec ssd = spec.host.ssd.value_or(SsdSpec{});
  const Bandwidth rate = op.role == OpRole::write_rows ? ssd.write_bandwidth : ssd.read_bandwidth;
  return {op.ssd_bytes.at(position) / rate.bytes_per_second, op.ssd_reads.at(position) / ssd.iops,
          op.memory_bytes.at(position) / spec.host.memory_bandwidth.bytes_per_second};
}

// Adds to each of the ranks of one node what the others have of a resource, as far as it is no more than its own.
void share(std::vector<std::pair<double, std::size_t>> wanted, std::vector<double>& seconds) {
  std::ranges::sort(wanted);
  double done = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double whole = done + static_cast<double>(wanted.size() - i) * wanted[i].first;
    seconds[wanted[i].second] = std::max(seconds[wanted[i].second], whole);
    done += wanted[i].first;
  }
}

}  // namespace

Seconds stored_rows_time(const Op& op, std::size_t position, const ClusterSpec& spec) {
  if (!moves_stored_rows(op.role)) return {0};
  return {std::ranges::max(demand_of(op, position, spec))};
}

bool waits_for_ssd(const Op& op, std::size_t position, const ClusterSpec& spec) {
  if (!moves_stored_rows(op.role)) return false;
  const Demand demand = demand_of(op, position, spec);
  return std::max(demand[0], demand[1]) > demand[2];
}

std::vector<double> shared_stored_rows_seconds(const Op& op, const Program& program, const ClusterSpec& spec) {
  const std::vector<int> ranks = program.ranks_of(op);
  std::vector<double> seconds(ranks.size(), 0.0);
  const int per_node = std::max(program.ranks_per_node, 1);
  for (std::size_t first = 0, end = 0; first < ranks.size(); first = end) {
    while (end < ranks.size() && ranks[end] / per_node == ranks[first] / per_node) ++end;
    for (std::size_t resource = 0; resource < kResources; ++resource) {
      std::vector<std::pair<double, std::size_t>> wanted;
      for (std::size_t position = first; position < end; ++position)
        wanted.emplace_back(demand_of(op, position, spec)[resource], position);
      share(std::move(wanted), seconds);
    }
  }
  return seconds;
}

}  // namespace shardsim
