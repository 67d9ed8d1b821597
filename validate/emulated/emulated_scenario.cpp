#include "validate/emulated/emulated_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "sim/study/study.h"
#include "validate/emulated/campaign_round.h"
#include "validate/emulated/emulated_cluster.h"
#include "validate/emulated/rank_processes.h"

namespace shardsim {
namespace {

Error no_stand_in(const ClusterSpec& spec, const std::string& wrong) {
  return input_error({"cluster " + spec.name}, wrong, "Take emulated_2x4, or a cluster like it");
}

Bandwidth shaper_for(Bandwidth payload, int mtu) {
  const double share = payload_rate({1.0}, mtu).bytes_per_second;
  return {payload.bytes_per_second / share};
}

struct SlowNic {
  int rank = 0;
  double factor = 1;
  bool operator==(const SlowNic&) const = default;
};

std::vector<SlowNic> slow_nics(const ClusterSpec& spec) {
  std::vector<SlowNic> slow;
  for (const FaultSpec& fault : spec.faults) {
    if (!fault.nic) throw no_stand_in(spec, "it has a fault of a GPU, and only NICs can be slowed");
    slow.push_back({fault.node * spec.gpu.count + *fault.nic, fault.rate_factor});
  }
  return slow;
}

bool look_alike(const ClusterSpec& a, const ClusterSpec& b) {
  return shape_of(a) == shape_of(b) && slow_nics(a) == slow_nics(b);
}

// One process builds one cluster.
void require_one_cluster(const Scenario& scenario) {
  const ClusterSpec& first = scenario.cases.front().cluster;
  for (const Case& item : scenario.cases) {
    if (item.job) throw no_stand_in(item.cluster, "jobs share it");
    if (!look_alike(item.cluster, first)) throw no_stand_in(item.cluster, "the cases run on different clusters");
  }
}

std::vector<Program> programs_of(const Scenario& scenario) {
  std::vector<Program> programs;
  for (const Case& item : scenario.cases) {
    const Cluster cluster = cluster_of(item);
    programs.push_back(make_program(item, cluster, make_plan(item, cluster, scenario.seed, {}), scenario, false));
  }
  return programs;
}

ExecuteOptions back_to_back(const ScenarioRoundOptions& options) {
  ExecuteOptions how;
  how.device = "cpu";
  how.warmup = options.warmup;
  how.iterations = options.iterations;
  return how;
}

// The shapers are checked before any NIC is slowed; empty when `unfit` says why they will not do.
std::vector<Timeline> observed_on(const ClusterSpec& spec, const std::vector<Program>& programs,
                                  const ScenarioRoundOptions& options, std::string& unfit) {
  EmulatedCluster cluster(shape_of(spec));
  const NodeShape& ranks = cluster.shape().ranks;
  if (ranks.nodes > 1 && ranks.ranks_per_node > 1) {
    unfit = unfit_text(guarded_rates(cluster.shape(), observer_of(cluster, options.interrupted)));
    if (!unfit.empty()) return {};
  }
  for (const SlowNic& slow : slow_nics(spec)) cluster.set_nic_rate(slow.rank, slow.factor * cluster.shape().nic);
  return observe_programs(cluster, programs, back_to_back(options), options.interrupted);
}

// Of one collective: does it use links inside nodes, and between them?
struct Tiers {
  bool fast = false, nic = false;
  bool meets(const Tiers& other) const { return (fast && other.fast) || (nic && other.nic); }
};

Tiers tiers_of(const Timeline& timeline, int op) {
  Tiers tiers;
  const auto group = timeline.groups.find(timeline.ops[op].group);
  if (group == timeline.groups.end()) return {true, true};
  for (const std::vector<int>& ranks : group->second) {
    for (const int rank : ranks) {
      const bool same_node = rank / timeline.ranks_per_node == ranks.front() / timeline.ranks_per_node;
      if (!same_node) tiers.nic = true;
      if (same_node && rank != ranks.front()) tiers.fast = true;
    }
  }
  return tiers;
}

// Compute models read the table by its name.
void use_bench(Scenario& scenario, const TemporaryFolder& folder) {
  std::vector<const Workload*> workloads;
  for (const Case& item : scenario.cases) workloads.push_back(&item.workload);
  folder.put("measured.csv", bench_on_ranks(shape_of(scenario.cases.front().cluster).ranks.world_size(), workloads));
  const std::string model = "{\"name\": \"measured\", \"file\": \"" + folder.path("measured.csv").string() + "\"}";
  for (Case& item : scenario.cases) item.compute_model = parse_json(model, "the micro-benchmark of this machine");
}

bool overlap(const Span& a, const Span& b) {
  return a.rank == b.rank && a.start_us < b.end_us && b.start_us < a.end_us;
}

// The operations of the Timeline that the row stands for.
bool shares_its_tier(const Timeline& timeline, const ComparedOperation& row) {
  for (std::size_t op = 0; op < timeline.ops.size(); ++op) {
    const auto& names = row.predicted_names;
    const bool one_of_them = std::find(names.begin(), names.end(), timeline.ops[op].name) != names.end();
    if (one_of_them && shares_its_tier(timeline, static_cast<int>(op))) return true;
  }
  return false;
}

std::vector<std::string> fastest_first(const ComparisonReport& report, double (*time)(const ComparedCase&)) {
  std::vector<const ComparedCase*> cases;
  for (const ComparedCase& item : report.cases) cases.push_back(&item);
  std::stable_sort(cases.begin(), cases.end(),
                   [&](const ComparedCase* a, const ComparedCase* b) { return time(*a) < time(*b); });
  std::vector<std::string> names;
  for (const ComparedCase* item : cases) names.push_back(item->comparison.case_name);
  return names;
}

void judge(ScenarioRound& round) {
  for (const ComparedCase& item : round.report.cases) {
    const Verdict verdict = verdict_of(item.comparison, item.predicted);
    const std::string name = item.comparison.case_name + ", ";
    for (const std::string& text : verdict.judged) round.judged.push_back(name + text);
    for (const std::string& text : verdict.outside) round.outside.push_back(name + text);
  }
  round.predicted_order =
      fastest_first(round.report, [](const ComparedCase& item) { return item.comparison.iteration.predicted_ms; });
  round.observed_order = fastest_first(
      round.report, [](const ComparedCase& item) { return item.comparison.iteration.observed_ms.median; });
}

}  // namespace

EmulatedShape shape_of(const ClusterSpec& spec) {
  if (spec.device != "cpu") throw no_stand_in(spec, "its ranks are GPUs, and an emulated cluster has CPU ranks");
  if (!spec.nics || spec.nics->per_gpu != 1) throw no_stand_in(spec, "its ranks have not one NIC each");
  if (spec.nvlink.kind != NvlinkKind::nvswitch) throw no_stand_in(spec, "it has no switch inside its nodes");
  EmulatedShape shape;
  shape.ranks = {spec.nodes, spec.gpu.count};
  shape.fast = shaper_for(spec.nvlink.links_per_gpu * spec.nvlink.per_link_effective, kFastMtu);
  shape.nic = shaper_for(spec.nics->rate, kNicMtu);
  check_shape(shape);
  return shape;
}

bool shares_its_tier(const Timeline& timeline, int op) {
  const Tiers tiers = tiers_of(timeline, op);
  for (const Span& span : timeline.spans) {
    if (span.op != op) continue;
    for (const Span& other : timeline.spans) {
      if (other.op == op || !is_communication(timeline.ops[other.op].op_class)) continue;
      if (overlap(span, other) && tiers.meets(tiers_of(timeline, other.op))) return true;
    }
  }
  return false;
}

Verdict verdict_of(const TimelineComparison& comparison, const Timeline& predicted) {
  Verdict verdict;
  const auto check = [&](const std::string& what, const ComparedTime& time, double tolerance_pct) {
    const std::optional<double> error = time.error_against(time.observed_ms.min);
    const std::string text =
        fmt::format("{}: {:.1f} ms predicted, {:.1f} ms least observed, {:+.1f} % ({} % allowed)", what,
                    time.predicted_ms, time.observed_ms.min, error.value_or(0), shortest(tolerance_pct));
    const bool holds = error && std::abs(*error) <= tolerance_pct;
    verdict.judged.push_back(text + (holds ? "  ok" : "  OUTSIDE"));
    if (!holds) verdict.outside.push_back(text);
  };
  check("iteration", comparison.iteration, kIterationTolerancePct);
  for (const ComparedOperation& row : comparison.operations) {
    if (!is_communication(row.op_class) || row.time.predicted_ms < kJudgedCollectiveMs) continue;
    if (!shares_its_tier(predicted, row)) check(row.name, row.time, kCollectiveTolerancePct);
  }
  for (const LoneOperation& lone : comparison.alone) {
    if (lone.ms >= kJudgedCollectiveMs)
      verdict.outside.push_back(lone.name + (lone.predicted ? " only predicted" : " only observed"));
  }
  return verdict;
}

ScenarioRound validate_emulated_scenario(Scenario scenario, const ScenarioRoundOptions& options) {
  require_one_cluster(scenario);
  ScenarioRound round;
  round.unfit = emulation_obstacle();
  if (!round.unfit.empty()) return round;
  const TemporaryFolder bench;  // as long as compute models read it
  if (options.bench_compute) use_bench(scenario, bench);
  // Before the cluster is built: afterwards this process lives in name spaces of its own.
  const std::vector<Program> programs = programs_of(scenario);
  WorkerOptions workers;
  workers.interrupted = options.interrupted;
  const StudyResult predicted = run_study(scenario, workers);
  const std::vector<Timeline> observed = observed_on(scenario.cases.front().cluster, programs, options, round.unfit);
  if (!round.unfit.empty()) return round;
  for (std::size_t i = 0; i < scenario.cases.size(); ++i) {
    const std::string& name = scenario.cases[i].name;
    const Timeline& simulated = predicted.cases.at(i).timeline;
    const ComparedPair pair{name, name, {"prediction of " + name}, {"emulated cluster"}};
    round.report.cases.push_back({compare_timelines(simulated, observed.at(i), pair), simulated, observed[i]});
  }
  round.report.predicted = "simulation";
  round.report.observed = "emulated cluster";
  judge(round);
  return round;
}

}  // namespace shardsim
