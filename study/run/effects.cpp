#include "study/run/effects.h"

#include <algorithm>

#include "sim/engine/op_work.h"
#include "study/run/case_result.h"

namespace shardsim {
namespace {

constexpr std::array<EffectWords, kEffects> kWords = {{
    {"contention", "contention", "to the estimate no transfer slows another"},
    {"overlap", "overlap", "the estimate adds up what runs at the same time"},
    {"start-ups", "start_ups", "to the estimate collectives and kernels start at once"},
    {"uneven loads", "uneven_loads",
     "the simulation waits for the slowest rank of every collective, the estimate adds up the busiest rank alone"},
    {"ids", "ids", "the estimate does not count the exchange of ids"},
    {"other work", "other_work", "the estimate counts no dense part, and of the passes over vectors few"},
    {"lookups", "lookups", "both count the bytes of lookups, at other rates"},
    {"updates", "updates", "to the estimate the backward pass takes a fixed multiple of the lookup"},
    {"all-to-all", "all_to_all",
     "the estimate sends every byte of an all-to-all through the owner's NIC at its nominal rate, those that stay in "
     "the node too"},
    {"reduce-scatter", "reduce_scatter",
     "the estimate counts the partial sums of row-wise tables against one rank's link, the simulation moves them in "
     "rings over all links of a node"},
    {"all-reduce", "all_reduce", "both reduce the same bytes over the ranks, at other rates"},
}};

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
  if (op.op_class == OpClass::update) return times.updates;
  if (op.op_class == OpClass::all_to_all) return times.all_to_all;
  if (op.op_class == OpClass::all_reduce) return times.all_reduce;
  return op.is_collective() ? times.reduce_scatter : times.other;
}

}  // namespace

const EffectWords& words(Effect effect) {
  return kWords[static_cast<std::size_t>(effect)];
}

std::vector<std::string> words_of(Effect) {
  std::vector<std::string> keys;
  for (const EffectWords& each : kWords) keys.emplace_back(each.key);
  return keys;
}

EffectTimes effects_between(const torchrec::IterationEstimate& estimate, const RemovedEffects& removed,
                            double simulated_ms) {
  const torchrec::IterationEstimate::Parts& mean = estimate.mean;
  const double waits = removed.without_starts - removed.even.total();
  EffectTimes times{};
  const auto set = [&](Effect effect, double ms) { times[static_cast<std::size_t>(effect)] = ms; };
  set(Effect::contention, simulated_ms - removed.uncontended);
  set(Effect::overlap, removed.uncontended - removed.serial);
  set(Effect::start_ups, removed.serial - removed.without_starts);
  set(Effect::uneven_loads, waits - (estimate.iteration_ms - mean.total()));
  set(Effect::ids, removed.even.ids);
  set(Effect::other_work, removed.even.other - mean.copies - mean.prefetch);
  set(Effect::lookups, removed.even.lookups - mean.lookup);
  set(Effect::updates, removed.even.updates - mean.update);
  set(Effect::all_to_all, removed.even.all_to_all - mean.all_to_all);
  set(Effect::reduce_scatter, removed.even.reduce_scatter - mean.reduce_scatter);
  set(Effect::all_reduce, removed.even.all_reduce - mean.all_reduce);
  return times;
}

WorkTimes mean_work(const Program& program, const std::vector<OpWork>& works, const Cluster& cluster) {
  WorkTimes times;
  for (const Op& op : program.ops) bin_of(op, times) += mean_ms(works[static_cast<std::size_t>(op.id)], cluster);
  return times;
}

RemovedEffects remove_effects(const PreparedCase& prepared, const Scenario& scenario, double uncontended_ms) {
  const Case& item = prepared.item;
  const auto compute = make_compute_model(item.compute_model);
  const auto run = [&](const Program& program, const std::vector<OpWork>& works) {
    const auto alone = make_network(named_map("closed_form"));
    return iteration_time(program, prepared.cluster, works, *alone, engine_options(item)).ms();
  };
  RemovedEffects removed;
  removed.uncontended = uncontended_ms;

  Case in_line = item;
  in_line.overlap = false;
  const Program serial = make_program(in_line, prepared.cluster, prepared.plan, scenario, false);
  removed.serial = run(serial, expand_ops(serial, prepared.cluster, *compute, item.algorithms));

  std::vector<OpWork> works = expand_ops(serial, without_kernel_starts(prepared.cluster), *compute, item.algorithms);
  for (OpWork& work : works) {
    for (OpWork::Call& call : work.calls) call.loads.start = {0};
  }
  removed.without_starts = run(serial, works);
  removed.even = mean_work(serial, works, prepared.cluster);
  return removed;
}

}  // namespace shardsim
