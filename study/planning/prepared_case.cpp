#include "study/planning/prepared_case.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "base/packed.h"
#include "base/text.h"
#include "base/workers.h"
#include "models/collective/collective.h"
#include "plan/check.h"
#include "plan/memory_model.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "sim/engine/op_work.h"
#include "sim/lower/known_shares.h"
#include "sim/lower/lower.h"
#include "sim/lower/row_draws.h"
#include "sim/memory/memory_profile.h"
#include "study/planning/placement_outline.h"

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

// As it comes out of a process.
struct TrialFigures {
  double ms = 0;
  std::int64_t peak_bytes = 0;
};

void fields(auto& visit, MaybeConst<TrialFigures> auto& trial) {
  visit(trial.ms, trial.peak_bytes);
}

// Simulates one plan of a case after the other.
struct PlanTrials {
  const Case& item;
  const Cluster& cluster;
  std::shared_ptr<KnownShares> known = std::make_shared<KnownShares>();

  double iteration_ms(const Plan& plan, const Tree& network) const {
    const Scenario scenario;  // its seed is all that a Program takes of it, and times do not depend on it
    const Program program = make_program(item, cluster, plan, scenario, false, known);
    const auto compute = make_compute_model(item.compute_model);
    const std::vector<OpWork> works = expand_ops(program, cluster, *compute, item.algorithms);
    return iteration_time(program, cluster, works, *make_network(network), engine_options(item)).ms();
  }
  TrialFigures trial(const Plan& plan) const {
    const Scenario scenario;
    const Program program = make_program(item, cluster, plan, scenario, false, known);
    const auto compute = make_compute_model(item.compute_model);
    const std::vector<OpWork> works = expand_ops(program, cluster, *compute, item.algorithms);
    const SteadyIteration iteration =
        steady_iteration(program, cluster, works, *make_network(item.network), engine_options(item));
    return {iteration.time.ms(), memory_profile(program, iteration.timeline, plan, item.workload).highest().bytes()};
  }
  // With its rows as typically drawn for it alone: what is typical of all together, a planner does not know yet.
  PlacementLoad load(const Placement& placement) const {
    const LoweringOptions options{false, item.overlap, item.load, known};
    const Plan alone{{placement}};
    return placement_load(placement, item.workload, cluster, with_placed_rows(options, alone, item.workload, cluster));
  }
};

// In a process of its own, for SimGrid allows one engine in each.
template <typename Of>
auto simulated_apart(const PlanTrials& trials, const std::function<bool()>& interrupted, Of of) {
  const auto simulated = [&] { return packed(of()); };
  return unpacked<decltype(of())>(run_in_workers({{trials.item.name, simulated}}, {1, {}, interrupted}).front());
}

constexpr std::size_t kMostTableRanks = 100'000'000;  // a plan lists the holders of every table: 4 bytes each and more

// Limits of tables and of ranks hold singly.
void require_reasonable_plan(const Case& item, const Cluster& cluster) {
  const std::size_t tables = item.workload.tables.size(), ranks = static_cast<std::size_t>(cluster.world_size());
  if (tables * ranks <= kMostTableRanks) return;
  throw input_error(Place{}, fmt::format("{} tables on {} ranks, over {} together", tables, ranks, kMostTableRanks),
                    "Plan fewer tables, or for fewer ranks");
}

}  // namespace

Cluster cluster_of(const Case& item) {
  return item.job ? Cluster(item.cluster, item.job->nodes) : Cluster(item.cluster);
}

Error in_case(const Case& item, const Error& error) {
  if (!error.place().source.empty()) return error;
  const bool in_file = !item.plan_file.empty() && error.failure() == Failure::input;
  const std::string what = error.what();
  const std::string name = what.starts_with("case ") ? "" : "case '" + item.name + "': ";  // the engine knows it, too
  return {error.failure(), in_file ? Place{item.plan_file} : item.place, name + what, ""};
}

Plan unchecked_plan(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch) {
  if (!item.plan_file.empty()) return read_plan_file(item.plan_file, item.workload, cluster);
  require_reasonable_plan(item, cluster);
  const auto memory = make_memory_model(item.memory_model);
  const auto compute = make_compute_model(item.compute_model);
  const Tree closed_form = named_map("closed_form");
  const PlanTrials trials{item, cluster};
  PlannerContext context{*memory, seed, {}};
  context.simulated_bandwidths = [&] { return simulated_bandwidths(item.workload, cluster); };
  context.simulate = [&](const Plan& plan) {
    const auto ms = [&] { return trials.iteration_ms(plan, item.network); };
    return Seconds{simulated_apart(trials, watch.interrupted, ms) * 1e-3};
  };
  context.trial = [&](const Plan& plan) {
    const TrialFigures trial = simulated_apart(trials, watch.interrupted, [&] { return trials.trial(plan); });
    return PlanTrial{Seconds{trial.ms * 1e-3}, trial.peak_bytes};
  };
  context.note = watch.note;
  context.check_stop = [&] { throw_if_interrupted(watch.interrupted); };
  context.load = [&](const Placement& placement) { return trials.load(placement); };
  context.compute = compute.get();
  context.outline = [&](const Plan& plan) {
    return iteration_outline(plan, item.workload, cluster, *compute, item.overlap,
                             item.software ? &*item.software : nullptr);
  };
  context.estimate = [&](const Plan& plan) { return Seconds{trials.iteration_ms(plan, closed_form) * 1e-3}; };
  context.figure = watch.figure;
  context.trained_on = watch.trained_on;
  if (!item.constraints.by_table.empty()) context.constraints = &item.constraints;
  check_constraints_fit(item.constraints, item.workload, cluster, *memory);
  return make_planner(item.planner)->plan(item.workload, cluster, context);
}

void check_made_plan(const Plan& plan, const Case& item, const Cluster& cluster) {
  const bool made = item.plan_file.empty();
  if (made) check_plan(plan, item.workload, cluster, item.place);
  check_constraints(plan, item.workload, item.constraints,
                    made ? "planner " + excerpt(item.planner.find("name")->scalar) : "the plan of the file");
}

Plan make_plan(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch) {
  try {
    Plan plan = unchecked_plan(item, cluster, seed, watch);
    check_made_plan(plan, item, cluster);
    check_memory(plan, item.workload, cluster, *make_memory_model(item.memory_model));
    return plan;
  } catch (const Error& error) {
    throw in_case(item, error);
  }
}

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

LoweringOptions lowering_options(const Case& item, bool observed_payload) {
  LoweringOptions options{observed_payload, item.overlap, item.load};
  options.row_growth = asks_row_growth(item.compute_model);
  if (item.software) options.software = &*item.software;
  return options;
}

Program make_program(const Case& item, const Cluster& cluster, const Plan& plan, const Scenario& scenario,
                     bool observed_payload, std::shared_ptr<KnownShares> known, std::optional<int> row_draw) {
  LoweringOptions options = lowering_options(item, observed_payload);
  options.known = std::move(known);
  options.row_draw = row_draw;
  options = with_placed_rows(std::move(options), plan, item.workload, cluster);
  Program program = lower(plan, item.workload, cluster, options);
  program.scenario = scenario.path;
  program.case_name = item.name;
  program.seed = scenario.seed;
  return program;
}

namespace {

std::vector<double> log_times_of(const RowDraws& draws, const Case& item, const Cluster& cluster, const Plan& plan,
                                 std::optional<double> typical_ms, const std::shared_ptr<KnownShares>& known) {
  const auto compute = make_compute_model(item.compute_model);
  const auto network = make_network(runs_once(item.network) ? named_map("fair_queues") : item.network);
  return draws.log_times([&](int draw) {
    if (typical_ms && draw == draws.typical()) return *typical_ms;
    const Program program = make_program(item, cluster, plan, Scenario{}, false, known, draw);
    const std::vector<OpWork> works = expand_ops(program, cluster, *compute, item.algorithms);
    return iteration_time(program, cluster, works, *network, engine_options(item)).ms();
  });
}

RowDraws draws_of(const Case& item, const Cluster& cluster, const Plan& plan,
                  const std::shared_ptr<KnownShares>& known) {
  LoweringOptions options = lowering_options(item, false);
  options.known = known;
  return {plan, item.workload, cluster, options};
}

}  // namespace

std::vector<double> placement_log_times(const Case& item, const Cluster& cluster, const Plan& plan,
                                        std::optional<double> typical_ms) {
  const auto known = std::make_shared<KnownShares>();
  return log_times_of(draws_of(item, cluster, plan, known), item, cluster, plan, typical_ms, known);
}

EngineOptions engine_options(const Case& item) {
  return {item.iterations, item.steady, item.algorithms};
}

PreparedCase::PreparedCase(const Scenario& of, const Case& one, Cluster on, Plan planned)
    : PreparedCase(of, one, std::make_shared<const Cluster>(std::move(on)), std::move(planned)) {}

PreparedCase::PreparedCase(const Scenario& of, const Case& one, std::shared_ptr<const Cluster> on, Plan planned)
    : scenario(of),
      item(one),
      shared_(std::move(on)),
      cluster(*shared_),
      plan(std::move(planned)),
      known_(std::make_shared<KnownShares>()) {}

PreparedCase PreparedCase::with_plan(Plan planned) const {
  PreparedCase other(scenario, item, shared_, std::move(planned));
  other.known_ = known_;
  return other;
}

const Program& PreparedCase::program() const {
  if (program_) return *program_;
  const std::optional<int> draw = item.load.placement ? std::nullopt : std::optional(row_draws().typical());
  program_ = make_program(item, cluster, plan, scenario, false, known_, draw);
  return *program_;
}

std::vector<double> PreparedCase::placement_log_times(std::optional<double> typical_ms) const {
  return log_times_of(row_draws(), item, cluster, plan, typical_ms, known_);
}

const RowDraws& PreparedCase::row_draws() const {
  if (!row_draws_) row_draws_ = draws_of(item, cluster, plan, known_);
  return *row_draws_;
}

Program PreparedCase::observed_program() const {
  return make_program(item, cluster, plan, scenario, true, known_);
}

double uncontended_ms(const PreparedCase& prepared) {
  const Case& item = prepared.item;
  return done_in_case(item, [&] {
    const auto compute = make_compute_model(item.compute_model);
    const std::vector<OpWork> works = expand_ops(prepared.program(), prepared.cluster, *compute, item.algorithms);
    const auto network = make_network(named_map("closed_form"));
    return iteration_time(prepared.program(), prepared.cluster, works, *network, engine_options(item)).ms();
  });
}

double simulated_ms(const PreparedCase& prepared) {
  return simulate_case(prepared, prepared.program(), prepared.item.network).timeline.iteration_ms;
}

SimulationResult simulate_case(const PreparedCase& prepared, const Program& program, const Tree& network) {
  return done_in_case(prepared.item, [&] {
    const auto compute = make_compute_model(prepared.item.compute_model);
    const auto engine = make_network(network);
    return simulate(program, prepared.cluster, *compute, *engine, engine_options(prepared.item));
  });
}

}  // namespace shardsim
