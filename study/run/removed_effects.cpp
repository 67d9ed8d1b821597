#include "study/run/removed_effects.h"

#include <algorithm>

namespace shardsim {
namespace {

// The cluster with kernels that start at once. A start that the compute model `measured` has read is part of its
// curves.
Cluster without_kernel_starts(const Cluster& cluster) {
  ClusterSpec spec = cluster.spec();
  spec.gpu.kernel_overhead = {0};
  return Cluster(spec);
}

double seconds_on(const LinkLoad& load, const Cluster& cluster) {
  const double rate = cluster.links()[load.link].rate.bytes_per_second;
  const double cap = load.cap.bytes_per_second;
  return load.occupancy / (cap > 0 ? std::min(cap, rate) : rate);
}

// Returns the seconds of the slowest of the loads on these links, or on any.
double slowest(const CollectiveLoads& loads, const std::vector<LinkId>* links, const Cluster& cluster) {
  double seconds = 0;
  for (const LinkLoad& load : loads.loads) {
    const bool own = links == nullptr || std::find(links->begin(), links->end(), load.link) != links->end();
    if (own) seconds = std::max(seconds, seconds_on(load, cluster));
  }
  return seconds;
}

double seconds_of_all_members(const OpWork::Call& call, const Cluster& cluster) {
  if (call.loads.synchronising) return static_cast<double>(call.ranks.size()) * slowest(call.loads, nullptr, cluster);
  double sum = 0;
  for (const int rank : call.ranks) sum += slowest(call.loads, &cluster.links_of(rank), cluster);
  return sum;
}

double mean_ms(const OpWork& work, const Cluster& cluster) {
  double sum = 0;
  for (const double seconds : work.seconds) sum += std::max(seconds, 0.0);
  for (const OpWork::Call& call : work.calls) sum += seconds_of_all_members(call, cluster);
  return sum / cluster.world_size() * 1e3;
}

double& bin_of(const Op& op, WorkTimes& times) {
  if (exchanges_inputs(op.role)) return times.ids;
  if (op.role == OpRole::dense_all_reduce || op.role == OpRole::dense_update) return times.other;
  if (op.op_class == OpClass::lookup) return times.lookups;
  // TorchRec's estimate has the gradient of weights in its backward pass.
  if (op.op_class == OpClass::update || op.role == OpRole::weight_gradient) return times.updates;
  if (op.op_class == OpClass::all_to_all) return times.all_to_all;
  if (op.op_class == OpClass::all_reduce) return times.all_reduce;
  return op.is_collective() ? times.reduce_scatter : times.other;
}

}  // namespace

WorkTimes mean_work(const Program& program, const std::vector<OpWork>& works, const Cluster& cluster) {
  WorkTimes times;
  for (const Op& op : program.ops) bin_of(op, times) += mean_ms(works[static_cast<std::size_t>(op.id)], cluster);
  return times;
}

RemovedEffects remove_effects(const PreparedCase& prepared, double alone_ms) {
  RemovedEffects removed;
  removed.uncontended = alone_ms;

  Case in_line = prepared.item;
  in_line.overlap = false;
  const PreparedCase serial(prepared.scenario, in_line, prepared.shared_cluster(), prepared.plan);
  removed.serial = uncontended_ms(serial);

  const auto startless = std::make_shared<const Cluster>(without_kernel_starts(prepared.cluster));
  std::vector<OpWork> works = ResolvedCase(in_line, startless).works(serial.program());
  for (OpWork& work : works) {
    for (OpWork::Call& call : work.calls) call.loads.start = {0};
  }
  removed.without_starts = serial.time(serial.program(), works, *ResolvedCase::uncontended()).ms();
  removed.even = mean_work(serial.program(), works, prepared.cluster);
  return removed;
}

}  // namespace shardsim
