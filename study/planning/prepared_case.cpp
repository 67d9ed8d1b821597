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
#include "plan/sharding_groups.h"
#include "plan/torchrec_types.h"
#include "plan/unsharded_tables.h"
#include "sim/engine/op_work.h"
#include "sim/lower/draws/row_draws.h"
#include "sim/lower/known_shares.h"
#include "sim/lower/lower.h"
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

// For cases that do not outlive the caller's cluster.
std::shared_ptr<const Cluster> lent(const Cluster& cluster) {
  return {std::shared_ptr<void>(), &cluster};
}

double iteration_ms(const PreparedCase& tried, Network& network) {
  return tried.time(tried.program(), network).ms();
}

TrialFigures trial(const PreparedCase& tried) {
  const SteadyIteration iteration = tried.steady(tried.program());
  const MemoryProfile memory = memory_profile(tried.program(), iteration.timeline, tried.plan, tried.item.workload);
  return {iteration.time.ms(), memory.highest().bytes()};
}

// With its rows as typically drawn for it alone: what is typical of all together, a planner does not know yet.
PlacementLoad typical_load(const Placement& placement, const Case& item, const Cluster& cluster,
                           const std::shared_ptr<KnownShares>& known) {
  LoweringOptions options{false, item.overlap, item.load, known};
  options.row_tables = asks_tables(item.compute_model);
  const Plan alone{{placement}};
  return placement_load(placement, item.workload, cluster, with_placed_rows(options, alone, item.workload, cluster));
}

// In a process of its own, for SimGrid allows one engine in each.
template <typename Of>
auto simulated_apart(const Case& item, const std::function<bool()>& interrupted, Of of) {
  const auto simulated = [&] { return packed(of()); };
  return unpacked<decltype(of())>(run_in_workers({{item.name, simulated}}, {1, {}, interrupted}).front());
}

// A case that is being planned: all questions are answered by lowering and simulating it. Refers to what it is given.
class CaseHost : public PlannerHost {
 public:
  // `groups`: of one of which `cluster` and the plans are; none: those of the world.
  CaseHost(const Case& item, const Cluster& cluster, const std::optional<GroupedWorld>& groups,
           const PreparedCase& unplanned, const PlanWatch& watch, const std::vector<Plan>& known)
      : item_(item), cluster_(cluster), groups_(groups), unplanned_(unplanned), watch_(watch), plans_(known) {}

  bool answers(Question) const override { return true; }
  PlannerBandwidths bandwidths() const override { return simulated_bandwidths(item_.workload, cluster_); }
  PlacementLoad load_of(const Placement& placement) const override {
    return typical_load(placement, item_, cluster_, known_);
  }
  const ComputeModel& compute_model() const override { return unplanned_.compute(); }
  std::string kernels() const override {
    const std::string family = kernel_family_name(item_.compute_model);
    return family.empty() ? compute_model_name(item_.compute_model) : family;
  }
  std::vector<Plan> known_plans() const override { return groups_ ? std::vector<Plan>{} : plans_; }
  IterationOutline outline_of(const Plan& plan) const override {
    return iteration_outline(plan, item_.workload, cluster_, unplanned_.compute(), item_.overlap,
                             item_.software ? &*item_.software : nullptr);
  }
  Seconds estimated(const Plan& plan) const override {
    return {iteration_ms(unplanned_.with_plan(of_world(plan)), *ResolvedCase::uncontended()) * 1e-3};
  }
  Seconds simulated(const Plan& plan) const override {
    const PreparedCase tried = unplanned_.with_plan(of_world(plan));
    const auto ms = [&] { return iteration_ms(tried, *tried.network()); };
    return {simulated_apart(item_, watch_.interrupted, ms) * 1e-3};
  }
  PlanTrial tried(const Plan& plan) const override {
    const PreparedCase tried = unplanned_.with_plan(of_world(plan));
    const TrialFigures figures = simulated_apart(item_, watch_.interrupted, [&] { return trial(tried); });
    return {Seconds{figures.ms * 1e-3}, figures.peak_bytes};
  }

  bool listens() const override { return bool(watch_.figure); }
  void say(const std::string& text) const override {
    if (watch_.note) watch_.note(text);
  }
  void state(const std::string& name, double value) const override {
    if (watch_.figure) watch_.figure(name, value);
  }
  void learned_from(const std::string& provider) const override {
    if (watch_.trained_on) watch_.trained_on(provider);
  }
  void stop_if_asked() const override { throw_if_interrupted(watch_.interrupted); }

 private:
  Plan of_world(const Plan& plan) const { return groups_ ? groups_->of_world(plan) : plan; }

  const Case& item_;
  const Cluster& cluster_;
  const std::optional<GroupedWorld>& groups_;
  const PreparedCase& unplanned_;
  const PlanWatch& watch_;
  const std::vector<Plan>& plans_;
  std::shared_ptr<KnownShares> known_ = std::make_shared<KnownShares>();
};

constexpr std::size_t kMostTableRanks = 100'000'000;  // a plan lists the holders of every table: 4 bytes each and more

// Limits of tables and of ranks hold singly.
void require_reasonable_plan(const Case& item, const Cluster& cluster) {
  const std::size_t tables = item.workload.tables.size(), ranks = static_cast<std::size_t>(cluster.world_size());
  if (tables * ranks <= kMostTableRanks) return;
  throw input_error(Place{}, fmt::format("{} tables on {} ranks, over {} together", tables, ranks, kMostTableRanks),
                    "Plan fewer tables, or for fewer ranks");
}

Plan planned_from(const std::vector<Plan>& known, const Case& item, const Cluster& world, std::uint64_t seed,
                  const PlanWatch& watch) {
  const std::optional<GroupedWorld> groups = GroupedWorld::of(item.workload, world);
  const Cluster& cluster = groups ? groups->cluster() : world;
  if (!item.plan_file.empty()) return read_plan_file(item.plan_file, item.workload, cluster);
  require_reasonable_plan(item, cluster);
  const Scenario scenario;  // its seed is all that a Program takes of it, and times do not depend on it
  Case planned = item;
  planned.load.draw.reset();                              // which of the draws is told, nobody knows who makes a plan
  if (!groups) planned.workload.sharding_groups.reset();  // one group is the world
  const PreparedCase unplanned(scenario, planned, lent(world), {});
  const MemoryModel& memory = unplanned.memory();
  const CaseHost host(planned, cluster, groups, unplanned, watch, known);
  const PlannerContext context{memory, seed, host, item.constraints.by_table.empty() ? nullptr : &item.constraints};
  check_constraints_fit(item.constraints, item.workload, cluster, memory);
  return plan_with_unsharded(*make_planner(item.planner), item.planner.find("name")->scalar, planned.workload, cluster,
                             context);
}

// What sharding groups cannot hold is told before the ranks of the plan are looked at.
void check_groups_hold(const Plan& plan, const Workload& workload) {
  for (const Placement& placement : plan.placements)
    if (static_cast<std::size_t>(placement.table) < workload.tables.size())
      if (const std::optional<Error> refused = refused_in_groups(placement, workload)) throw *refused;
}

}  // namespace

Error in_case(const Case& item, const Error& error) {
  if (!error.place().source.empty()) return error;
  const bool in_file = !item.plan_file.empty() && error.failure() == Failure::input;
  const std::string what = error.what();
  const std::string name = what.starts_with("case ") ? "" : "case '" + item.name + "': ";  // the engine knows it, too
  return {error.failure(), in_file ? Place{item.plan_file} : item.place, name + what, ""};
}

Plan unchecked_plan(const Case& item, const Cluster& world, std::uint64_t seed, const PlanWatch& watch) {
  return planned_from({}, item, world, seed, watch);
}

void check_made_plan(const Plan& plan, const Case& item, const Cluster& cluster) {
  const bool made = item.plan_file.empty();
  const std::optional<GroupedWorld> groups = GroupedWorld::of(item.workload, cluster);
  if (groups) check_groups_hold(plan, item.workload);
  if (made) check_plan(plan, item.workload, groups ? groups->cluster() : cluster, item.place);
  check_constraints(plan, item.workload, item.constraints, row_ranks(item.workload, item.cluster),
                    made ? "planner " + excerpt(item.planner.find("name")->scalar) : "the plan of the file");
}

Cluster cluster_of_plan(const Case& item) {
  Cluster world = cluster_of(item);
  const std::optional<GroupedWorld> groups = GroupedWorld::of(item.workload, world);
  if (groups) return groups->cluster();
  return world;
}

Plan plan_of_world(Plan plan, const Case& item, const Cluster& cluster) {
  const std::optional<GroupedWorld> groups = GroupedWorld::of(item.workload, cluster);
  if (groups) plan = groups->of_world(plan);
  return plan;
}

Plan make_plan(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch) {
  return make_plan_from({}, item, cluster, seed, watch);
}

Plan make_plan_from(const std::vector<Plan>& known, const Case& item, const Cluster& cluster, std::uint64_t seed,
                    const PlanWatch& watch) {
  try {
    Plan plan = planned_from(known, item, cluster, seed, watch);
    check_made_plan(plan, item, cluster);
    plan = plan_of_world(std::move(plan), item, cluster);
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
  options.row_draw = item.load.draw;
  options.row_growth = asks_row_growth(item.compute_model);
  options.row_tables = asks_tables(item.compute_model);
  if (item.software) options.software = &*item.software;
  return options;
}

namespace {

Program lowered_case(const Case& item, const Cluster& cluster, const Plan& plan, const Scenario& scenario,
                     const LoweringOptions& options) {
  Program program = lower(plan, item.workload, cluster, options);
  program.scenario = scenario.path;
  program.case_name = item.name;
  program.seed = scenario.seed;
  return program;
}

}  // namespace

Program make_program(const Case& item, const Cluster& cluster, const Plan& plan, const Scenario& scenario,
                     bool observed_payload) {
  return lowered_case(item, cluster, plan, scenario,
                      with_placed_rows(lowering_options(item, observed_payload), plan, item.workload, cluster));
}

PreparedCase::PreparedCase(const Scenario& of, const Case& one, Cluster on, Plan planned)
    : PreparedCase(of, one, std::make_shared<const Cluster>(std::move(on)), std::move(planned)) {}

PreparedCase::PreparedCase(const Scenario& of, const Case& one, std::shared_ptr<const Cluster> on, Plan planned,
                           std::shared_ptr<KnownShares> known)
    : ResolvedCase(one, std::move(on)),
      scenario(of),
      plan(std::move(planned)),
      known_(known ? std::move(known) : std::make_shared<KnownShares>()) {}

PreparedCase::PreparedCase(const PreparedCase& like, Plan planned)
    : ResolvedCase(like), scenario(like.scenario), plan(std::move(planned)), known_(like.known_) {}

PreparedCase PreparedCase::with_plan(Plan planned) const {
  return {*this, std::move(planned)};
}

PreparedCase PreparedCase::with_case(const Case& other) const {
  PreparedCase changed(scenario, other, cluster_of(other), plan);
  if (other.workload.tables == item.workload.tables) changed.known_ = known_;
  return changed;
}

const Program& PreparedCase::program() const {
  if (!program_) program_ = lowered(placed_options(false));
  return *program_;
}

Program PreparedCase::observed_program() const {
  return lowered(placed_options(true));
}

LoweringOptions PreparedCase::placed_options(bool observed_payload) const {
  LoweringOptions options = lowering_options(item, observed_payload);
  options.known = known_;
  return options.row_draw ? options : row_draws().placed(std::move(options));
}

std::vector<double> PreparedCase::placement_log_times(const std::function<double()>& moved) const {
  const auto network = repeatable_network();
  const LoweringOptions options = placed_options(false);
  const auto time_of = [&](int draw) { return time(lowered(RowDraws::tried(options, draw)), *network).ms(); };
  return row_draws().log_times(time_of, moved);
}

std::optional<int> PreparedCase::row_draw() const {
  return row_draws().any() ? std::optional(row_draws().typical()) : std::nullopt;
}

Program PreparedCase::program_with(const Software& software) const {
  LoweringOptions options = placed_options(false);
  options.software = &software;
  return lowered(options);
}

Program PreparedCase::lowered(const LoweringOptions& options) const {
  return lowered_case(item, cluster, plan, scenario, options);
}

const RowDraws& PreparedCase::row_draws() const {
  if (row_draws_) return *row_draws_;
  LoweringOptions options = lowering_options(item, false);
  options.known = known_;
  return row_draws_.emplace(plan, item.workload, cluster, options);
}

double uncontended_ms(const PreparedCase& prepared) {
  return done_in_case(prepared.item,
                      [&] { return prepared.time(prepared.program(), *ResolvedCase::uncontended()).ms(); });
}

double simulated_ms(const PreparedCase& prepared) {
  return done_in_case(prepared.item, [&] { return prepared.time(prepared.program(), *prepared.network()).ms(); });
}

SimulationResult simulate_case(const PreparedCase& prepared, Network& network) {
  return done_in_case(prepared.item, [&] { return prepared.simulated(prepared.program(), network); });
}

}  // namespace shardsim
