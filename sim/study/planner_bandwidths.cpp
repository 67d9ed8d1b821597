#include "sim/study/planner_bandwidths.h"

#include <limits>
#include <numeric>

#include "models/collective/collective.h"
#include "plan/plan.h"

namespace shardsim {
namespace {

constexpr std::int64_t kReduceBytes = 256LL << 20;

std::int64_t batch_bytes(const Workload& workload) {
  double bytes = 0;
  for (const Table& table : workload.tables) {
    bytes += table.distribution().total() * static_cast<double>(table.row_bytes());
  }
  return static_cast<std::int64_t>(bytes * static_cast<double>(workload.batch_per_gpu));
}

double bandwidth(const CollectiveCall& call, std::int64_t payload, const Cluster& cluster) {
  if (call.ranks.size() < 2) return std::numeric_limits<double>::infinity();
  return static_cast<double>(payload) / expand_collective(call, cluster, "auto").alone(cluster).value;
}

}  // namespace

PlannerBandwidths simulated_bandwidths(const Workload& workload, const Cluster& cluster) {
  const std::int64_t rows = batch_bytes(workload);
  ByteMatrix even;
  even.units = {rows};
  const std::vector<int> world = all_ranks(cluster.world_size());
  std::vector<int> node(cluster.ranks_per_node());
  std::iota(node.begin(), node.end(), 0);
  std::vector<int> across;
  for (int each = 0; each < cluster.nodes(); ++each) across.push_back(each * cluster.ranks_per_node());

  PlannerBandwidths result;
  result.all_to_all_global = bandwidth({CollectiveKind::all_to_all, world, &even, 0}, rows, cluster);
  result.all_to_all_intra = bandwidth({CollectiveKind::all_to_all, node, &even, 0}, rows, cluster);
  result.all_reduce_global =
      bandwidth({CollectiveKind::all_reduce, world, nullptr, kReduceBytes}, kReduceBytes, cluster);
  result.all_reduce_cross =
      bandwidth({CollectiveKind::all_reduce, across, nullptr, kReduceBytes}, kReduceBytes, cluster);
  return result;
}

}  // namespace shardsim
