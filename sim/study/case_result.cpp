#include "sim/study/case_result.h"

#include <algorithm>

#include "base/packed.h"
#include "base/workers.h"
#include "plan/memory_model.h"
#include "sim/engine/op_work.h"
#include "sim/timeline/timeline.h"

namespace shardsim {
namespace {

constexpr std::uint64_t kParetoTicks = 1000;  // the paper marks every 0.1 % of the rows

std::vector<int> holders_of(const Placement& placement) {
  std::vector<int> ranks;
  for (const std::vector<int>& holders : placement.holders) ranks.insert(ranks.end(), holders.begin(), holders.end());
  return ranks;
}

std::vector<PlacementSummary> summarise(const Plan& plan, const Workload& workload) {
  std::vector<PlacementSummary> summaries;
  for (const Placement& placement : plan.placements) {
    const Table& table = workload.tables[placement.table];
    const AccessDistribution access = table.distribution();
    PlacementSummary summary;
    summary.table = table.name;
    summary.strategy = placement.strategy;
    summary.rows = placement.rows();
    summary.access_share = access.sum(placement.row_begin, placement.row_end) / access.total();
    summary.ranks = holders_of(placement);
    summaries.push_back(summary);
  }
  return summaries;
}

ParetoPoint pareto_point(const CostParameters& cost, const AccessDistribution& access, double row_bytes,
                         std::uint64_t rows) {
  return {rows, dp_memory_delta(cost, access, row_bytes, rows), dp_time_delta(cost, access, row_bytes, rows)};
}

std::vector<ParetoFigure> pareto_figures(const Case& item, const Cluster& cluster) {
  const auto memory = make_memory_model(item.memory_model);
  const CostParameters cost = memory->cost_parameters(item.workload, cluster);
  std::vector<ParetoFigure> figures;
  for (const Table& table : item.workload.tables) {
    if (table.kind != TableKind::sequence) continue;
    const AccessDistribution access = table.distribution();
    const auto row_bytes = static_cast<double>(table.row_bytes());
    const NamedPoints points = named_points(cost, access);
    const auto at = [&](std::uint64_t rows) { return pareto_point(cost, access, row_bytes, rows); };
    // Whole ticks, the first of them past the end of the Pareto range.
    const std::uint64_t tick = std::max<std::uint64_t>(table.rows / kParetoTicks, 1);
    const std::uint64_t ticks = std::min(std::max(points.a, points.c) / tick + 1, table.rows / tick);
    figures.push_back({table.name, table.rows,
                       pareto_curve(cost, access, row_bytes, ticks * tick, static_cast<int>(ticks)), at(points.a),
                       at(points.b), at(points.c), at(points.d)});
  }
  return figures;
}

void add_simulation(CaseResult& result, SimulationResult simulated) {
  result.timeline = std::move(simulated.timeline);
  result.timeline.hbm_bytes = result.memory_per_rank;
  result.limit = simulated.busiest;
  result.last_change = simulated.change;
  result.iteration_ms = result.timeline.iteration_ms;
  result.samples_per_s =
      static_cast<double>(result.world_size) * static_cast<double>(result.batch_per_gpu) / (result.iteration_ms * 1e-3);
  result.times = named_times(result.timeline);
}

void add_memory(CaseResult& result, const PreparedCase& prepared) {
  const Case& item = prepared.item;
  const auto memory = make_memory_model(item.memory_model);
  result.memory_profile = memory_profile(prepared.program(), result.timeline, prepared.plan, item.workload);
  result.estimated_memory = memory_on_rank(prepared.plan, static_cast<int>(result.memory_profile.fullest()),
                                           item.workload, prepared.cluster, *memory);
}

void add_torchrec(CaseResult& result, const PreparedCase& prepared) {
  const Case& item = prepared.item;
  torchrec::PlannerOptions options;
  options.topology = prepared.scenario.cross_check->topology;
  const auto request = torchrec::planner_request(options, item.workload, prepared.cluster);
  EstimatedCase checked;
  checked.estimate = torchrec::estimate_iteration(prepared.plan, item.workload, request);
  checked.removed = remove_effects(prepared, prepared.scenario, result.estimate_iteration_ms);
  checked.effects = effects_between(checked.estimate, checked.removed, result.iteration_ms);
  result.torchrec = checked;
}

// In a process of its own, for SimGrid allows one engine in each.
Timeline at_observed_payload(const PreparedCase& prepared) {
  const auto simulated = [&] {
    const Program program = make_program(prepared.item, prepared.cluster, prepared.plan, prepared.scenario, true);
    return to_bytes(simulate_case(prepared, program, prepared.item.network).timeline);
  };
  return timeline_from_bytes(run_in_workers({{prepared.item.name, simulated}}, {}).front());
}

constexpr const char* kThroughputGain = "throughput_gain";

std::optional<double> collective_ms(const Timeline& timeline, const std::string& name) {
  for (const NamedTime& time : named_times(timeline)) {
    if (time.name == name) return time.alone_ms;
  }
  return std::nullopt;
}

// "rows:flex" and "coverage:flex": over all tables.
std::optional<double> of_strategy(const CaseResult& result, const std::string& quantity) {
  const bool rows = quantity.starts_with("rows:");
  const std::string strategy = quantity.substr(quantity.find(':') + 1);
  std::optional<double> sum;
  for (const PlacementSummary& placement : result.placements) {
    if (strategy_name(placement.strategy) != strategy) continue;
    sum = sum.value_or(0) + (rows ? static_cast<double>(placement.rows) : 100 * placement.access_share);
  }
  return sum;
}

// What the case says at the payload of `timeline`.
std::optional<double> predicted(const std::string& quantity, const CaseResult& result, const Timeline& timeline) {
  if (quantity == "iteration") return timeline.iteration_ms;
  if (quantity == kThroughputGain) return std::nullopt;
  if (quantity.find(':') != std::string::npos) return of_strategy(result, quantity);
  return collective_ms(timeline, quantity);
}

// Samples of one iteration on all ranks.
double samples(const CaseResult& result) {
  return static_cast<double>(result.world_size) * static_cast<double>(result.batch_per_gpu);
}

std::optional<double> relative_error(std::optional<double> predicted, double value) {
  if (!predicted || value == 0) return std::nullopt;
  return 100 * (*predicted - value) / value;
}

}  // namespace

std::optional<double> Comparison::error_pct() const {
  return relative_error(predicted, published.value);
}

std::optional<double> Comparison::error_at_observed_payload_pct() const {
  return relative_error(predicted_at_observed_payload, published.value);
}

std::vector<Comparison> compared_with_published(const CaseResult& result, const std::vector<Published>& published) {
  std::vector<Comparison> comparisons;
  for (const Published& each : published) {
    Comparison comparison{each, predicted(each.quantity, result, result.timeline), std::nullopt};
    if (each.at_observed_payload && result.observed_payload_timeline) {
      comparison.predicted_at_observed_payload = predicted(each.quantity, result, *result.observed_payload_timeline);
    }
    comparisons.push_back(comparison);
  }
  return comparisons;
}

void compare_throughput(CaseResult& result, const CaseResult& base) {
  const double batches = samples(result) / samples(base);
  const auto gain_pct = [&](const Timeline& own, const Timeline& other) {
    return 100 * (batches * (other.iteration_ms / own.iteration_ms) - 1);
  };
  const auto &observed = result.observed_payload_timeline, &base_observed = base.observed_payload_timeline;
  for (Comparison& comparison : result.published) {
    if (comparison.published.quantity != kThroughputGain) continue;
    comparison.predicted = gain_pct(result.timeline, base.timeline);
    if (!comparison.published.at_observed_payload || !observed || !base_observed) continue;
    comparison.predicted_at_observed_payload = gain_pct(*observed, *base_observed);
  }
}

CaseResult described_case(const PreparedCase& prepared, SimulationResult simulated, double estimate_ms, bool pareto) {
  const Case& item = prepared.item;
  CaseResult result;
  result.name = item.name;
  result.workload = item.workload.name;
  result.cluster = item.cluster.name;
  result.planner = item.plan_file.empty() ? item.planner.find("name")->scalar : item.plan_file;
  result.relative_to = item.relative_to;
  result.world_size = prepared.cluster.world_size();
  result.batch_per_gpu = item.workload.batch_per_gpu;
  const auto memory = make_memory_model(item.memory_model);
  result.memory_per_rank = memory_per_rank(prepared.plan, item.workload, prepared.cluster, *memory);
  result.memory_capacity = prepared.cluster.memory_per_rank().count;
  result.placements = summarise(prepared.plan, item.workload);
  result.estimate_iteration_ms = estimate_ms;
  add_simulation(result, std::move(simulated));
  add_memory(result, prepared);
  if (pareto) result.pareto = pareto_figures(item, prepared.cluster);
  return result;
}

CaseResult simulated_case(const PreparedCase& prepared, bool pareto) {
  const Case& item = prepared.item;
  std::optional<Timeline> observed;
  if (item.payload_both && item.workload.has_runtime()) observed = at_observed_payload(prepared);
  const auto compute = make_compute_model(item.compute_model);
  const std::vector<OpWork> works = expand_ops(prepared.program(), prepared.cluster, *compute, item.algorithms);
  const auto simulated = [&](const Tree& network) {
    const EngineOptions options = engine_options(item);
    return simulate_works(prepared.program(), prepared.cluster, works, *make_network(network), options);
  };
  const double estimate_ms = simulated(named_map("closed_form")).timeline.iteration_ms;
  CaseResult result = described_case(prepared, simulated(item.network), estimate_ms, pareto);
  if (observed) result.iteration_ms_at_observed_payload = observed->iteration_ms;
  result.observed_payload_timeline = std::move(observed);
  if (prepared.scenario.cross_check) add_torchrec(result, prepared);
  result.notes = case_notes(result, prepared);
  result.published = compared_with_published(result, item.published);
  return result;
}

}  // namespace shardsim
