#include "study/run/case_result.h"

#include <algorithm>
#include <cmath>

#include "base/packed.h"
#include "base/workers.h"
#include "plan/memory_model.h"
#include "plan/torchrec_types.h"
#include "program/timeline/rank_times.h"
#include "program/timeline/timeline.h"
#include "sim/engine/op_work.h"
#include "sim/engine/steady_timeline.h"
#include "study/notes/modules_apart.h"
#include "study/notes/notes.h"
#include "study/result/result_fields.h"
#include "study/run/drawn_batches.h"
#include "study/run/published_comparison.h"
#include "study/run/removed_effects.h"
#include "study/run/traced_parts.h"

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

// Spans of a Timeline up to which its critical path and links are kept for the picture of the report, and all times of
// its operations at another payload.
constexpr std::size_t kMostTraced = 60'000;

void set_iteration(CaseResult& result, double ms) {
  result.iteration_ms = ms;
  result.samples_per_s =
      static_cast<double>(result.world_size) * static_cast<double>(result.batch_per_gpu) / (ms * 1e-3);
}

// Returns the time of the copies and exchanges that work for a later batch, of the rank where they take longest: as
// many run before the first iteration of a run, when nothing hides them.
double fill_ms(const Program& program, const Timeline& timeline) {
  std::vector<double> us(static_cast<std::size_t>(timeline.world_size), 0.0);
  for (const Span& span : timeline.spans) {
    const Op& op = program.op(span.op);
    if (op.batches_ahead > 0 && op.role != OpRole::launch)
      us[static_cast<std::size_t>(span.rank)] += span.end_us - span.start_us;
  }
  return us.empty() ? 0 : *std::ranges::max_element(us) * 1e-3;
}

// Returns what the last iteration of a run is shorter by, for there is no later batch to work for: of those copies,
// lookups and exchanges what its critical path has.
double drained_ms(const Program& program, const CriticalPath& path) {
  double seconds = 0;
  for (const PathStep& step : path.steps) {
    if (step.op < 0) continue;
    const Op& op = program.op(step.op);
    if (op.batches_ahead > 0 && op.role != OpRole::launch) seconds += step.seconds;
  }
  return seconds * 1e3;
}

void add_simulation(CaseResult& result, const PreparedCase& prepared, SimulationResult simulated) {
  result.timeline = std::move(simulated.timeline);
  result.timeline.hbm_bytes = result.memory_per_rank;
  result.limit = simulated.busiest;
  result.last_change = simulated.change;
  if (simulated.rare) {
    result.iteration_ms_without_averages = simulated.rare->without.ms();
    result.iteration_ms_with_averages = simulated.rare->with.ms();
  }
  set_iteration(result, result.timeline.iteration_ms);
  result.fill_ms = fill_ms(prepared.program(), result.timeline);
  result.fill_ms = std::max(result.fill_ms - drained_ms(prepared.program(), simulated.path), 0.0);
  TimelineTimes times = all_times(result.timeline);
  result.times = std::move(times.names);
  result.rank_times = std::move(times.ranks);
  result.path = path_times(prepared.program(), simulated.path);
  if (!simulated.path.steps.empty())
    result.why = why_of(prepared.program(), prepared.cluster, simulated.path, result.times);
}

void add_memory(CaseResult& result, const PreparedCase& prepared, MemoryProfile profile) {
  const Case& item = prepared.item;
  result.buffers_counted = prepared.memory().counts_buffers();
  result.memory_profile = std::move(profile);
  result.estimated_memory = memory_on_rank(prepared.plan, static_cast<int>(result.memory_profile.fullest()),
                                           item.workload, prepared.cluster, prepared.memory());
}

void add_torchrec(CaseResult& result, const PreparedCase& prepared) {
  const Case& item = prepared.item;
  torchrec::PlannerOptions options;
  options.run.estimate.version = prepared.scenario.cross_check->version;
  options.topology = prepared.scenario.cross_check->topology;
  const auto request = torchrec::planner_request(options, item.workload, prepared.cluster);
  EstimatedCase checked;
  checked.estimate = torchrec::estimate_iteration(prepared.plan, item.workload, request);
  checked.removed = remove_effects(prepared, result.estimate_iteration_ms);
  checked.effects = effects_between(checked.estimate, checked.removed, result.iteration_ms);
  result.torchrec = checked;
}

// True where the times of operations without contention, and the iteration's length, tell all that is published of this
// payload.
bool asks_alone_times(const std::vector<Published>& published) {
  return std::ranges::none_of(published, [](const Published& each) {
    return each.at_observed_payload &&
           (each.quantity.starts_with(kOperationPrefix) || each.quantity == kExposedCollectives);
  });
}

// The times at another payload: of a large world's operations no more than is asked for.
AtPayload times_at_payload(const PreparedCase& prepared, const Program& program, const std::vector<OpWork>& works) {
  const Case& item = prepared.item;
  const std::size_t spans = program.ops.size() * static_cast<std::size_t>(program.world_size);
  if (spans > kMostTraced && asks_alone_times(item.published)) {
    SteadyTimes times = steady_times(program, prepared.cluster, works, *prepared.network(), engine_options(item));
    return {times.time.ms(), std::move(times.alone)};
  }
  const Timeline timeline =
      steady_timeline(program, prepared.cluster, works, *prepared.network(), engine_options(item));
  return {timeline.iteration_ms, named_times_alone(timeline)};
}

// `known`: takes the reductions, which are mostly those at the planned payload, too.
AtPayload observed_run(const PreparedCase& prepared, KnownReductions& known) {
  const Case& item = prepared.item;
  if (item.load.drawn()) {
    const DrawnSimulation drawn = simulate_drawn(prepared, true);
    return {drawn.figures.iteration_ms.mean, named_times_alone(drawn.nearest.timeline)};
  }
  return done_in_case(item, [&]() -> AtPayload {
    const Program program = prepared.observed_program();
    std::vector<OpWork> works = prepared.works(program);
    AtPayload at = times_at_payload(prepared, program, works);
    known.keep(program, std::move(works));
    return at;
  });
}

// A network that runs once runs here in a process of its own, before this process has had it.
std::optional<AtPayload> at_observed_payload(const PreparedCase& prepared, KnownReductions& known) {
  if (!prepared.item.payload_both || !prepared.item.workload.has_runtime()) return std::nullopt;
  if (!runs_once(prepared.item.network)) return observed_run(prepared, known);
  const auto simulated = [&] { return packed(observed_run(prepared, known)); };
  return unpacked<AtPayload>(run_in_workers({{prepared.item.name, simulated}}, {}).front());
}

HostFigures host_figures(const Software& software, const Timeline& timeline) {
  HostFigures figures{software.name};
  figures.with_graph = software.with_graph;
  const std::vector<HostShare> ranks = host_times_of(timeline);
  const auto worst = std::ranges::max_element(ranks, {}, &HostShare::waited_for_ms);
  if (worst == ranks.end()) return figures;
  figures.rank = static_cast<int>(worst - ranks.begin());
  figures.busy_ms = worst->busy_ms;
  figures.waits_for_host_ms = worst->waited_for_ms;
  return figures;
}

}  // namespace

CaseResult described_case(const PreparedCase& prepared, SimulationResult simulated, double estimate_ms, bool pareto) {
  const Case& item = prepared.item;
  CaseResult result;
  result.name = item.name;
  result.workload = item.workload.name;
  result.cluster = item.cluster.name;
  result.planner = item.plan_file.empty() ? item.planner.find("name")->scalar : item.plan_file;
  result.relative_to = item.relative_to;
  result.beyond_torchrec = beyond_torchrec(prepared.plan, item.workload, row_ranks(item.workload, item.cluster));
  result.world_size = prepared.cluster.world_size();
  result.batch_per_gpu = item.workload.batch_per_gpu;
  result.memory_per_rank = memory_per_rank(prepared.plan, item.workload, prepared.cluster, prepared.memory());
  result.memory_capacity = prepared.cluster.memory_per_rank().count;
  result.memory_reserved = prepared.cluster.spec().gpu.reserved.count;
  result.placements = summarise(prepared.plan, item.workload);
  result.estimate_iteration_ms = estimate_ms;
  const bool asked = std::ranges::count(prepared.scenario.merged_traces, item.name) > 0;
  if (asked || simulated.timeline.spans.size() <= kMostTraced)
    result.traced = traced_parts(prepared, simulated.timeline, simulated.path);
  add_simulation(result, prepared, std::move(simulated));
  if (item.software) result.host = host_figures(*item.software, result.timeline);
  result.loads = rank_loads(prepared.program());
  result.matrix = plan_matrix(prepared.program(), result.timeline);
  add_memory(result, prepared, memory_profile(prepared.program(), result.timeline, prepared.plan, item.workload));
  if (pareto) result.pareto = pareto_figures(item, prepared.cluster);
  return result;
}

namespace {

CaseResult at_planned_payload(const PreparedCase& prepared, KnownReductions& known, bool pareto) {
  const Case& item = prepared.item;
  if (item.load.drawn()) {
    DrawnSimulation drawn = simulate_drawn(prepared, false);
    CaseResult result = described_case(prepared, std::move(drawn.nearest), drawn.estimate_ms, pareto);
    set_iteration(result, drawn.figures.iteration_ms.mean);
    add_memory(result, prepared, std::move(drawn.memory));
    result.drawn = std::move(drawn.figures);
    if (result.why) result.why->left_out.push_back(kept_iteration_text(*result.drawn, result.why->iteration_ms));
    return result;
  }
  ComparedSimulation simulated = [&] {  // works of a large world take more memory than all that is told of them
    const std::vector<OpWork> works =
        expand_ops(prepared.program(), prepared.cluster, prepared.compute(), item.algorithms, known);
    return simulate_on_both(prepared.program(), prepared.cluster, works, *prepared.network(),
                            *ResolvedCase::uncontended(), engine_options(item));
  }();
  return described_case(prepared, std::move(simulated.result), simulated.other.ms(), pareto);
}

CaseResult whole_case(const PreparedCase& prepared, bool pareto) {
  const Case& item = prepared.item;
  KnownReductions known;
  std::optional<AtPayload> observed = at_observed_payload(prepared, known);
  CaseResult result = at_planned_payload(prepared, known, pareto);
  if (observed) {
    result.iteration_ms_at_observed_payload = observed->iteration_ms;
    result.at_observed_payload = std::move(observed);
  }
  if (!item.job) {
    const auto moved = [&] { return share_moved_by_rows(prepared.program(), result.path, result.iteration_ms); };
    result.placement_log_times = prepared.placement_log_times(moved);
    if (!result.placement_log_times.empty()) result.row_draw = prepared.row_draw();
  }
  if (prepared.scenario.cross_check) add_torchrec(result, prepared);
  result.dense_operators = dense_operator_times(prepared);
  result.operator_classes = operator_class_times(prepared);
  const std::optional<WithoutDuplicates> without = without_duplicates(prepared);
  if (without) result.iteration_ms_without_duplicates = without->iteration_ms;
  result.iteration_ms_with_modules_apart = ms_with_modules_apart(prepared, result.iteration_ms);
  result.notes = notes_for(Asker::run, {item, &prepared, &result, without ? &*without : nullptr});
  result.published = compared_with_published(result, item.published, [&] { return KernelParts::of(prepared); });
  return result;
}

}  // namespace

CaseResult simulated_case(const PreparedCase& prepared, bool pareto) {
  return done_in_case(prepared.item, [&] { return whole_case(prepared, pareto); });
}

}  // namespace shardsim
