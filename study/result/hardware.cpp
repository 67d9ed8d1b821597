#include "study/result/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "program/timeline/named_times.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

constexpr double kTellingOverlap = 1e-3;  // of an iteration, that one operation runs beside another

// Takes the value of `other` where that of `slower` is no better, so that the two are equal if nothing is better.
template <typename Value>
void level(Value& slower, const Value& other) {
  if (slower < other) slower = other;
}

// The same of what is better where it is less: times, and shares that are lost.
template <typename Value>
void level_down(Value& slower, const Value& other) {
  if (other < slower) slower = other;
}

// What no tensor gets is no memory.
void level_memory(GpuSpec& slower, const GpuSpec& other) {
  if (slower.hbm.count - slower.reserved.count > other.hbm.count - other.reserved.count) return;
  slower.hbm = other.hbm;
  slower.reserved = other.reserved;
}

void level_gpu(GpuSpec& slower, const GpuSpec& other) {
  level_memory(slower, other);
  level(slower.hbm_bandwidth, other.hbm_bandwidth);
  level(slower.copy_bandwidth, other.copy_bandwidth);
  level(slower.l2, other.l2);
  level(slower.l2_bandwidth, other.l2_bandwidth);
  level(slower.sm_count, other.sm_count);
  level(slower.lookups_per_ns, other.lookups_per_ns);
  level_down(slower.sort_per_lookup, other.sort_per_lookup);
  level_down(slower.kernel_overhead, other.kernel_overhead);
  if (capability_number(slower.compute_capability) <= capability_number(other.compute_capability))
    slower.compute_capability = other.compute_capability;
  for (const auto& [precision, rate] : other.flops) level(slower.flops[precision], rate);
}

void level_host(HostSpec& slower, const HostSpec& other) {
  if (slower.memory && other.memory) level(*slower.memory, *other.memory);
  level(slower.memory_bandwidth, other.memory_bandwidth);
  if (slower.gpu_link_bandwidth && other.gpu_link_bandwidth)
    level(*slower.gpu_link_bandwidth, *other.gpu_link_bandwidth);
  level_down(slower.time_factor, other.time_factor);
}

void level_links(ClusterSpec& slower, const ClusterSpec& other) {
  level(slower.nvlink.links_per_gpu, other.nvlink.links_per_gpu);
  level(slower.nvlink.per_link, other.nvlink.per_link);
  level(slower.nvlink.per_link_effective, other.nvlink.per_link_effective);
  level(slower.pcie.generation, other.pcie.generation);
  level(slower.pcie.lanes, other.pcie.lanes);
  if (slower.nics && other.nics) level(slower.nics->rate, other.nics->rate);
  level_down(slower.fabric.oversubscription, other.fabric.oversubscription);
}

// What a cluster is made of: without names, sources and prices, and without what was fitted to measurements of other
// machines, which tells how well a cluster is known and not how good it is.
ClusterSpec hardware_of(ClusterSpec spec) {
  spec.name = spec.summary = spec.currency = spec.gpu.model = spec.pcie.cpu_model = spec.fits = "";
  spec.sources.clear();
  spec.open.clear();
  spec.cost_per_gpu_hour.reset();
  spec.overheads.clear();
  spec.gpu.holds_for.reset();
  spec.gpu.held_out.reset();
  spec.pcie.host_copy_efficiency.reset();
  spec.nvlink.nvb_holds_for.reset();
  if (spec.nics) {
    spec.nics->hardware_rate.reset();  // chooses among fitted constants
    spec.nics->rate_basis = "";
  }
  return spec;
}

// True when every fault of `other` is one of `slower`.
bool has_all_faults(const ClusterSpec& slower, const ClusterSpec& other) {
  return std::ranges::all_of(other.faults, [&](const FaultSpec& fault) {
    return std::ranges::find(slower.faults, fault) != slower.faults.end();
  });
}

// The operation on whose path the longer iteration spends most more than the shorter one.
struct Longer {
  const PathPart* part = nullptr;
  double ms = 0;
};

Longer longest_excess(const Why& longer, const Why& shorter) {
  std::map<std::string, double> before;
  for (const PathPart& part : shorter.parts) before[part.operation] += part.ms;
  Longer found;
  for (const PathPart& part : longer.parts) {
    const double ms = part.ms - before[part.operation];
    if (ms > found.ms) found = {&part, ms};
  }
  return found;
}

using Times = std::map<std::string, std::vector<std::pair<double, double>>>;  // us, by operation

Times times_on(const Timeline& timeline, int rank) {
  Times times;
  for (const Span& span : timeline.spans)
    if (span.rank == rank)
      times[timeline.ops[static_cast<std::size_t>(span.op)].name].emplace_back(span.start_us, span.end_us);
  return times;
}

// Returns how long two operations run at once in every iteration, ms: a Timeline holds one turn, of which the
// iterations before and behind are copies.
double beside_ms(const Times& times, const std::string& a, const std::string& b, double period_us) {
  double us = 0;
  if (!times.contains(a) || !times.contains(b)) return 0;
  for (const auto& [a_start, a_end] : times.at(a))
    for (const auto& [b_start, b_end] : times.at(b))
      for (int turn = -3; turn <= 3; ++turn)
        us += std::max(0.0, std::min(a_end, b_end + turn * period_us) - std::max(a_start, b_start + turn * period_us));
  return us * 1e-3;
}

bool is_collective(const Timeline& timeline, const std::string& name) {
  const auto op = std::ranges::find(timeline.ops, name, &Timeline::OpInfo::name);
  return op != timeline.ops.end() && !op->group.empty();
}

// Returns the time of all calls of that name, without contention, ms.
double alone_ms(const Timeline& timeline, const std::string& name) {
  double us = 0;
  for (const Timeline::OpInfo& op : timeline.ops)
    if (op.name == name) us += op.alone_us;
  return us * 1e-3;
}

// The collective that runs beside an operation longer than it does in the shorter iteration, by most.
struct Beside {
  std::string operation;
  double more_ms = 0;
};

Beside most_beside(const CaseResult& longer, const CaseResult& shorter, const PathPart& part) {
  const Times of_longer = times_on(longer.timeline, part.rank), of_shorter = times_on(shorter.timeline, part.rank);
  Beside most;
  for (const auto& [name, times] : of_longer) {
    if (name == part.operation || !is_collective(longer.timeline, name)) continue;
    const double more = beside_ms(of_longer, part.operation, name, longer.timeline.iteration_ms * 1e3) -
                        beside_ms(of_shorter, part.operation, name, shorter.timeline.iteration_ms * 1e3);
    if (more > most.more_ms) most = {name, more};
  }
  return most;
}

}  // namespace

bool is_slower_hardware(const ClusterSpec& slower, const ClusterSpec& other) {
  if (!has_all_faults(slower, other)) return false;
  const ClusterSpec own = hardware_of(slower), better = hardware_of(other);
  ClusterSpec levelled = own;
  level_gpu(levelled.gpu, better.gpu);
  level_host(levelled.host, better.host);
  level_links(levelled, better);
  levelled.faults = better.faults;
  return levelled == better && own != better;
}

const Case& case_named(const Scenario& scenario, const std::string& name) {
  return *std::ranges::find(scenario.cases, name, &Case::name);
}

bool asks_the_same(const CaseResult& one, const CaseResult& other, const Scenario& scenario) {
  const auto asked = [](const Case& item) {
    return std::tie(item.workload, item.planner, item.plan_file, item.compute_model, item.memory_model, item.network,
                    item.software, item.algorithms, item.overlap, item.load);
  };
  const auto shown = [](const CaseResult& item) {
    return std::tie(item.workload, item.batch_per_gpu, item.world_size, item.placements);
  };
  return shown(one) == shown(other) || asked(case_named(scenario, one.name)) == asked(case_named(scenario, other.name));
}

bool is_faster_on_slower_hardware(const CaseResult& fast, const CaseResult& other, const Scenario& scenario) {
  return fast.iteration_ms < other.iteration_ms && asks_the_same(fast, other, scenario) &&
         is_slower_hardware(case_named(scenario, fast.name).cluster, case_named(scenario, other.name).cluster);
}

std::string overlap_sentence(const CaseResult& longer, const CaseResult& shorter) {
  if (!longer.why || !shorter.why) return "";
  const Longer excess = longest_excess(*longer.why, *shorter.why);
  if (excess.part == nullptr || excess.part->rank < 0) return "";
  const std::string takes =
      fmt::format("{} takes {:.3g} ms more of the critical path there", excess.part->operation, excess.ms);
  const std::string& name = excess.part->operation;
  const double alone = alone_ms(longer.timeline, name), less = alone_ms(shorter.timeline, name);
  if (alone - less > excess.ms / 2)
    return fmt::format(
        "{}: even alone it takes {:.3g} instead of {:.3g} ms.{}", takes, alone, less,
        is_collective(longer.timeline, name) ? " NCCL finds other channels for it, or chooses otherwise." : "");
  const Beside beside = most_beside(longer, shorter, *excess.part);
  if (beside.more_ms > kTellingOverlap * longer.timeline.iteration_ms)
    return fmt::format("{}, because {} runs beside it for {:.3g} ms more on rank {} and takes part of what both share.",
                       takes, beside.operation, beside.more_ms, excess.part->rank);
  if (excess.part->beside.empty()) return takes + ".";
  return fmt::format("{}, where it shares {} with {}.", takes, excess.part->link, excess.part->beside);
}

}  // namespace shardsim
