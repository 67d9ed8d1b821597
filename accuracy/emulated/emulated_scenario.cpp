#include "accuracy/emulated/emulated_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accuracy/emulated/campaign_round.h"
#include "accuracy/emulated/emulated_cluster.h"
#include "accuracy/emulated/rank_processes.h"
#include "base/error.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "program/timeline/traffic.h"
#include "sim/lower/draws/drawn_batch.h"
#include "sim/lower/draws/row_draws.h"
#include "study/run/study.h"
#include "validate/execute/fusion/iteration_programs.h"

namespace shardsim {
namespace {

constexpr int kMostFilled = 1000;  // iterations of a case that is too short for the time that is to be filled

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

bool works_ahead(const Program& program) {
  return std::ranges::any_of(program.ops, [](const Op& op) { return op.batches_ahead > 0; });
}

// Iteration i of the simulated chain and iteration i of the ranks have the same sizes.
std::vector<Program> drawn_programs(const PreparedCase& prepared, int iterations) {
  const DrawnPrograms programs(prepared.plan, prepared.item.workload, prepared.cluster, prepared.placed_options(false));
  std::vector<Program> all;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    all.push_back(programs.at(iteration));
    all.back().scenario = prepared.scenario.path;
    all.back().case_name = prepared.item.name;
    all.back().seed = prepared.scenario.seed;
  }
  return all;
}

// The ids of expected batches are drawn, and the sizes of every iteration are theirs. In a pipeline, whose iterations
// cannot have sizes of their own, ids are made to fit those that are expected.
std::vector<Program> programs_of(const PreparedCase& prepared, int iterations) {
  if (prepared.item.load.drawn()) return drawn_programs(prepared, iterations);
  const Program& program = prepared.program();
  return works_ahead(program) ? std::vector<Program>{program} : with_drawn_sizes_of(program, iterations);
}

// Returns how many iterations of a case are kept.
int kept_of(const Case& item, double predicted_ms, const ScenarioRoundOptions& options) {
  const double to_fill = std::ceil(options.at_least.ms() / predicted_ms);
  if (item.load.drawn() || !(to_fill > options.iterations)) return options.iterations;
  return static_cast<int>(std::min<double>(to_fill, kMostFilled));
}

std::vector<ProgramRun> runs_of(const Scenario& scenario, const StudyResult& predicted,
                                const ScenarioRoundOptions& options) {
  std::vector<ProgramRun> runs;
  for (std::size_t i = 0; i < scenario.cases.size(); ++i) {
    const Case& item = scenario.cases[i];
    Cluster cluster = cluster_of(item);
    Plan plan = make_plan(item, cluster, scenario.seed, {});
    const int kept = kept_of(item, predicted.cases.at(i).iteration_ms, options);
    const PreparedCase prepared(scenario, item, std::move(cluster), std::move(plan));
    runs.push_back({programs_of(prepared, options.warmup + kept), kept});
  }
  return runs;
}

// Only then are there pairs of ranks on each tier whose rate can be measured.
bool has_two_tiers(const NodeShape& ranks) {
  return ranks.nodes > 1 && ranks.ranks_per_node > 1;
}

void slow_links(Scenario& scenario, double share) {
  for (Case& item : scenario.cases) item.cluster = with_rate_share(item.cluster, share);
}

// Drawn batches are simulated for as many iterations as the ranks run, after those that the simulation leaves out.
void align(Scenario& scenario, ScenarioRoundOptions& options) {
  if (std::ranges::none_of(scenario.cases, [](const Case& item) { return item.load.drawn(); })) return;
  options.warmup = kIterationsBefore;
  for (Case& item : scenario.cases) {
    if (item.load.drawn()) item.load.iterations = options.iterations;
  }
}

// The mean of the Programs that the kept iterations execute: those of drawn batches are the ones that were simulated.
void put_mean_traffic(Timeline& simulated, const std::vector<Program>& run, int warmup) {
  const auto kept = static_cast<std::int64_t>(run.size()) - warmup;
  std::vector<std::int64_t> out(simulated.bytes_out.size(), 0), in = out;
  for (std::size_t turn = static_cast<std::size_t>(warmup); turn < run.size(); ++turn) {
    Timeline one;
    one.world_size = simulated.world_size;
    add_traffic(one, run[turn]);
    for (std::size_t rank = 0; rank < out.size(); ++rank) {
      out[rank] += one.bytes_out[rank];
      in[rank] += one.bytes_in[rank];
    }
  }
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    simulated.bytes_out[rank] = out[rank] / kept;
    simulated.bytes_in[rank] = in[rank] / kept;
  }
  simulated.flow.clear();
}

ExecuteOptions back_to_back(const ScenarioRoundOptions& options) {
  ExecuteOptions how;
  how.device = "cpu";
  how.warmup = options.warmup;
  how.iterations = options.iterations;
  return how;
}

// The shapers are checked before any NIC is slowed; empty when `unfit` says why they will not do.
std::vector<Timeline> observed_on(const ClusterSpec& spec, const std::vector<ProgramRun>& runs,
                                  const ScenarioRoundOptions& options, std::string& unfit) {
  EmulatedCluster cluster(shape_of(spec));
  if (has_two_tiers(cluster.shape().ranks)) {
    unfit = unfit_text(guarded_rates(cluster.shape(), observer_of(cluster, options.interrupted)));
    if (!unfit.empty()) return {};
  }
  for (const SlowNic& slow : slow_nics(spec)) cluster.set_nic_rate(slow.rank, slow.factor * cluster.shape().nic);
  return observe_programs(cluster, runs, back_to_back(options), options.interrupted);
}

void bench_into(const TemporaryFolder& folder, const Scenario& scenario) {
  std::vector<const Workload*> workloads;
  for (const Case& item : scenario.cases) workloads.push_back(&item.workload);
  folder.put("measured.csv", bench_on_ranks(shape_of(scenario.cases.front().cluster).ranks.world_size(), workloads));
}

// Compute models read the table by its name.
void use_bench(Scenario& scenario, const TemporaryFolder& folder) {
  const std::string model = "{\"name\": \"measured\", \"file\": \"" + folder.path("measured.csv").string() + "\"}";
  for (Case& item : scenario.cases) item.compute_model = parse_json(model, "the micro-benchmark of this machine");
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
  for (std::size_t i = 0; i < round.report.cases.size(); ++i) {
    const ComparedCase& item = round.report.cases[i];
    const Verdict verdict = round.drawn[i] ? verdict_of(item.comparison, *round.drawn[i])
                                           : verdict_of(item.comparison, item.predicted, round.rate_share);
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

ScenarioRound validate_emulated_scenario(Scenario scenario, ScenarioRoundOptions options) {
  require_one_cluster(scenario);
  align(scenario, options);
  ScenarioRound round;
  round.unfit = emulation_obstacle();
  if (!round.unfit.empty()) return round;
  std::optional<Scenario> beside;
  if (options.beside) beside = options.beside->scenario;
  if (beside) align(*beside, options);
  round.shape = shape_of(scenario.cases.front().cluster);
  if (has_two_tiers(round.shape.ranks)) {
    const CarriedRates carried = carried_rates(round.shape, options.interrupted);
    round.unfit = carried.unfit;
    if (!round.unfit.empty()) return round;
    round.rate_share = carried.share;
    round.shape = at_share(round.shape, carried.share);
    slow_links(scenario, carried.share);
    if (beside) slow_links(*beside, carried.share);
  }
  const TemporaryFolder bench;  // as long as compute models read it
  if (options.bench_compute) {
    bench_into(bench, scenario);
    use_bench(scenario, bench);
    if (beside) use_bench(*beside, bench);
  }
  // Before the cluster is built: afterwards this process lives in namespaces of its own.
  WorkerOptions workers;
  workers.interrupted = options.interrupted;
  const StudyResult predicted = run_study(scenario, workers);
  const std::vector<ProgramRun> runs = runs_of(scenario, predicted, options);
  const StudyResult otherwise = beside ? run_study(*beside, workers) : StudyResult{};
  const std::vector<Timeline> observed = observed_on(scenario.cases.front().cluster, runs, options, round.unfit);
  if (!round.unfit.empty()) return round;
  for (std::size_t i = 0; i < scenario.cases.size(); ++i) {
    const std::string& name = scenario.cases[i].name;
    const CaseResult& result = predicted.cases.at(i);
    Timeline simulated = result.timeline;
    if (result.drawn) put_mean_traffic(simulated, runs[i].programs, options.warmup);
    const ComparedPair pair{name, name, {"prediction of " + name}, {"emulated cluster"}};
    TimelineComparison comparison = compare_timelines(simulated, observed.at(i), pair);
    if (result.drawn) comparison.iteration.predicted_ms = result.drawn->iteration_ms.median;
    round.report.cases.push_back({std::move(comparison), simulated, observed[i]});
    round.drawn.emplace_back();
    if (result.drawn) round.drawn.back() = drawn_times(*result.drawn, observed[i]);
    if (beside) round.beside.push_back(miss_of(compare_timelines(otherwise.cases.at(i).timeline, observed[i], pair)));
  }
  if (beside) round.beside_settings = options.beside->settings;
  round.report.predicted = "simulation";
  round.report.observed = "emulated cluster";
  judge(round);
  return round;
}

}  // namespace shardsim
