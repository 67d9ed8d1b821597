#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "base/text.h"
#include "plan/check.h"
#include "plan/plan_file.h"
#include "plan/planners/factories.h"
#include "plan/search/local_search.h"

namespace shardsim {
namespace {

using search::Choice;
using search::IterationCost;
using search::LocalSearch;
using search::TableChoices;

// Planners that answer at once; those that a build does not have are left out.
const std::vector<std::string>& quick_planners() {
  static const std::vector<std::string> names = {
      "torchrec",   "greedy", "memory_balanced", "table_wise",      "column_wise",     "table_row_wise",   "row_wise",
      "grid_shard", "flex",   "data_parallel",   "flexshard_2tier", "flexshard_3tier", "table_column_wise"};
  return names;
}

constexpr std::int64_t kMostEvaluations = 1'000'000'000;

struct Candidate {
  std::string name;  // of the planner that it is from; "search" of its own ones
  Plan plan;
  double closed_form = 0, estimate = 0;  // seconds
  std::optional<double> simulated = {};
};

bool has_room(const Plan& plan, const Workload& workload, const Cluster& cluster, const PlannerContext& context) {
  try {
    check_memory(plan, workload, cluster, context.memory);
    return true;
  } catch (const Error& error) {
    if (error.failure() != Failure::infeasible) throw;
    return false;
  }
}

class Search : public Planner {
 public:
  explicit Search(MapReader& options) : place_(options.tree().place) {
    if (options.has("start")) start_ = options.text("start", kFileNameRule);
    if (options.has("max_moved")) max_moved_ = options.bytes("max_moved").count;
    if (max_moved_ && start_.empty()) {
      throw input_error(options.place_of("max_moved"), "max_moved has no meaning without a plan to start from",
                        "Name the plan file as 'start', or leave max_moved out");
    }
    if (options.has("evaluations"))
      evaluations_ = options.get("evaluations", count_leaf(Bounds::from(1).to(kMostEvaluations), "more take hours"));
    if (options.has("timeout")) timeout_ = options.time("timeout").value;
    simulations_ = options.count("simulations", 6);
  }

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override;

 private:
  friend class SearchRun;
  Place place_;
  std::string start_;  // path of a plan file; "" none
  std::optional<std::int64_t> max_moved_, evaluations_;
  std::optional<double> timeout_;
  std::int64_t simulations_ = 6;
};

// One run of the planner.
class SearchRun {
 public:
  SearchRun(const Search& options, const Workload& workload, const Cluster& cluster, const PlannerContext& context)
      : options_(options),
        workload_(workload),
        cluster_(cluster),
        context_(context),
        choices_(workload, cluster, context),
        began_(std::chrono::steady_clock::now()) {}

  Plan best() {
    find_starts();
    if (!context_.load || !context_.outline || !context_.compute || !context_.estimate) return without_simulator();
    IterationCost cost = make_cost();
    choices_.use(cost);
    search::LocalSearchLimits limits;
    limits.evaluations = budget();
    limits.stop = [this] { return should_stop(); };
    if (options_.max_moved_) limit_moves(limits);
    LocalSearch local(workload_, cluster_, choices_, cost, std::move(limits));
    explore(local);
    return judged(local);
  }

 private:
  void say(const std::string& text) const {
    if (context_.note) context_.note(text);
  }
  void state(const std::string& name, double value) const {
    if (context_.figure) context_.figure(name, value);
  }

  bool should_stop() {
    if (context_.check_stop) context_.check_stop();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
    timed_out_ = options_.timeout_ && passed.count() > *options_.timeout_;
    return timed_out_;
  }

  void find_starts() {
    if (!options_.start_.empty()) {
      Plan plan = read_plan_file(options_.start_, workload_, cluster_);
      if (!choices_.allows(plan)) {
        throw input_error(options_.place_, "the plan to start from breaks the constraints of the scenario",
                          "Change the constraints, or start from another plan");
      }
      starts_.push_back({"start", std::move(plan)});
      return;
    }
    for (const std::string& name : quick_planners()) {
      if (context_.check_stop) context_.check_stop();
      if (std::ranges::find(planners(), std::string_view(name), &PlannerEntry::name) == planners().end()) continue;
      if (auto plan = plan_of(name)) starts_.push_back({name, std::move(*plan)});
    }
  }

  // Nothing where the planner has none, or breaks constraints.
  std::optional<Plan> plan_of(const std::string& name) const {
    PlannerContext quiet = context_;
    quiet.note = {};
    quiet.figure = {};
    try {
      Plan plan = make_planner(named_map(name))->plan(workload_, cluster_, quiet);
      check_plan(plan, workload_, cluster_, options_.place_);
      if (choices_.allows(plan)) return plan;
    } catch (const Error&) {
      return std::nullopt;
    }
    return std::nullopt;
  }

  // A command without a simulator has no times to compare: the first start that fits is as good as any.
  Plan without_simulator() const {
    for (const Candidate& start : starts_) {
      if (has_room(start.plan, workload_, cluster_, context_)) return start.plan;
    }
    if (starts_.empty()) {
      throw Error(Failure::infeasible, options_.place_, "no planner has a plan to start from",
                  "Change the constraints");
    }
    return starts_.front().plan;
  }

  IterationCost make_cost() const {
    std::vector<Plan> plans;
    for (const Candidate& start : starts_) plans.push_back(start.plan);
    return IterationCost(context_.outline(choices_.every_kind(plans)), workload_, cluster_, *context_.compute);
  }

  // So many that a search takes a few seconds, whatever the number of ranks.
  std::int64_t budget() const {
    if (options_.evaluations_) return *options_.evaluations_;
    const double ranks = cluster_.world_size();
    return std::max<std::int64_t>(2000, static_cast<std::int64_t>(4'320'000 / (ranks + 40)));
  }

  void limit_moves(search::LocalSearchLimits& limits) const {
    limits.max_moved = static_cast<double>(*options_.max_moved_);
    limits.before.resize(workload_.tables.size());
    for (const Placement& placement : starts_.front().plan.placements) {
      limits.before[static_cast<std::size_t>(placement.table)].push_back(placement);
    }
  }

  struct Found {
    std::vector<Choice> plan;
    double seconds = 0;
    bool fits = false;
  };

  void keep(const LocalSearch& local) { found_.push_back({local.plan(), local.seconds(), local.fits()}); }

  static bool is_before(const Found& a, const Found& b) { return a.fits != b.fits ? a.fits : a.seconds < b.seconds; }

  void explore(LocalSearch& local) {
    const std::int64_t all = budget();
    for (Candidate& start : starts_) {
      local.begin(choices_.of_plan(start.plan));
      start.closed_form = local.seconds();
      keep(local);
    }
    if (options_.max_moved_) {
      local.begin(found_.front().plan);
      finish(local, all);
      return;
    }
    std::ranges::stable_sort(found_, is_before);
    const std::vector<Found> first = found_;
    for (std::size_t i = 0; i < std::min<std::size_t>(first.size(), 2); ++i) {
      local.begin(first[i].plan);
      local.descend({}, all / 8);
      keep(local);
    }
    using enum Strategy;
    const std::vector<std::vector<Strategy>> families = {
        {},
        {data_parallel, column_wise},
        {data_parallel, row_wise, column_wise},
        {data_parallel, column_wise, grid_shard},
        {data_parallel, column_wise, table_row_wise},
        {data_parallel, row_wise},
    };
    for (const std::vector<Strategy>& family : families) {
      const auto anew = static_cast<std::int64_t>(25 * workload_.tables.size());  // evaluations that a plan anew takes
      const bool some = std::ranges::any_of(found_, &Found::fits) || (!found_.empty() && !family.empty());
      if (local.stopped() && !found_.empty()) break;
      if (some && (anew > all / 20 || local.evaluations() > all * 4 / 10)) break;
      local.rebuild(family);
      local.descend(family, all / 16);
      keep(local);
    }
    std::ranges::stable_sort(found_, is_before);
    local.begin(found_.front().plan);
    finish(local, all);
  }

  void finish(LocalSearch& local, std::int64_t all) {
    Rng rng(context_.seed);
    local.anneal((all - local.evaluations()) * 4 / 5, rng);
    local.descend({}, all);
    keep(local);
    std::ranges::stable_sort(found_, is_before);
  }

  // Rows stay where the hash of a plan to start from has put them.
  Plan plan_from(const std::vector<Choice>& choices) const {
    if (options_.start_.empty()) return choices_.plan_of(choices, context_.seed);
    Plan plan = choices_.plan_of(choices, starts_.front().plan.hash_seed);
    plan.modules = starts_.front().plan.modules;
    return plan;
  }

  void add_found(std::vector<Candidate>& candidates) const {
    for (const Found& found : found_) {
      Plan plan = plan_from(found.plan);
      const bool known = std::ranges::any_of(candidates, [&](const Candidate& c) { return c.plan == plan; });
      if (known || !has_room(plan, workload_, cluster_, context_)) continue;
      candidates.push_back({"search", std::move(plan), found.seconds});
      if (static_cast<std::int64_t>(candidates.size()) >= options_.simulations_) return;
    }
  }

  // The plan that the simulation finds fastest. Transfers that slow each other make an iteration longer than its closed
  // form, never shorter: what is slower in closed form than the best is simulated needs no simulation.
  Plan judged(const LocalSearch& local) {
    std::vector<Candidate> candidates;
    add_found(candidates);
    for (const Candidate& start : starts_) {
      if (has_room(start.plan, workload_, cluster_, context_)) candidates.push_back(start);
    }
    if (candidates.empty()) throw_no_room();
    for (Candidate& each : candidates) each.estimate = context_.estimate(each.plan).value;
    std::ranges::stable_sort(candidates, {}, &Candidate::estimate);
    const Candidate* best = nullptr;
    int simulations = 0;
    for (Candidate& each : candidates) {
      if (best != nullptr && each.estimate >= *best->simulated) break;
      each.simulated = context_.simulate ? context_.simulate(each.plan).value : each.estimate;
      ++simulations;
      if (best == nullptr || *each.simulated < *best->simulated) best = &each;
    }
    tell(candidates, *best, local, simulations);
    return best->plan;
  }

  void tell(const std::vector<Candidate>& candidates, const Candidate& best, const LocalSearch& local,
            int simulations) const {
    state("cost_ms", best.closed_form * 1e3);
    state("evaluations", static_cast<double>(local.evaluations()));
    state("simulations", simulations);
    const Candidate* start = nullptr;
    for (const Candidate& each : candidates) {
      if (each.name == "search") continue;
      state("start_" + each.name + "_ms", each.simulated.value_or(each.estimate) * 1e3);
      if (start == nullptr || each.simulated.value_or(each.estimate) < start->simulated.value_or(start->estimate)) {
        start = &each;
      }
    }
    say(fmt::format("{} in closed form, {} simulated; {:.3f} ms simulated, {:.3f} ms by its own cost",
                    counted(local.evaluations(), "evaluation"), counted(simulations, "plan"), *best.simulated * 1e3,
                    best.closed_form * 1e3));
    if (start != nullptr) {
      say(fmt::format("best plan to start from: {}, {:.3f} ms{}", start->name,
                      start->simulated.value_or(start->estimate) * 1e3,
                      start->simulated ? "" : " in closed form, no faster than the one chosen"));
    }
    if (timed_out_) say("the timeout ended the search: another run may find another plan");
  }

  [[noreturn]] void throw_no_room() const {
    const Plan nearest = plan_from(found_.front().plan);
    say("no plan in the GPUs' memory was found; rows may lie in the host's where constraints allow compute kernels "
        "fused_uvm_caching or fused_uvm");
    check_memory(nearest, workload_, cluster_, context_.memory);  // says what is missing
    throw Error(Failure::infeasible, options_.place_, "no plan within the limits of the search fits",
                "Allow more bytes to move");
  }

  const Search& options_;
  const Workload& workload_;
  const Cluster& cluster_;
  const PlannerContext& context_;
  TableChoices choices_;
  std::chrono::steady_clock::time_point began_;
  bool timed_out_ = false;
  std::vector<Candidate> starts_;
  std::vector<Found> found_;
};

Plan Search::plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const {
  return SearchRun(*this, workload, cluster, context).best();
}

}  // namespace

std::unique_ptr<Planner> make_search(MapReader& options) {
  return std::make_unique<Search>(options);
}

}  // namespace shardsim
