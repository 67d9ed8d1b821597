#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "base/tree/leaf.h"
#include "plan/check.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "plan/search/candidates.h"
#include "plan/search/crossing.h"
#include "plan/search/local_search.h"
#include "plan/search/start_plans.h"
#include "plan/torchrec_types.h"

namespace shardsim {
namespace {

using search::Candidate;
using search::Candidates;
using search::Choice;
using search::Found;
using search::is_before;
using search::IterationCost;
using search::LocalSearch;
using search::StartPlanner;
using search::TableChoices;

constexpr std::int64_t kMostEvaluations = 1'000'000'000;
constexpr std::size_t kBegun = 4;   // plans from which a short search begins
constexpr int kSearchRounds = 3;    // of the search, each with less memory if plans need more at their peak
constexpr double kFarAhead = 0.25;  // of TorchRec's own types: more than a search gains that has nothing else
constexpr int kFreePart = 3;        // of a search: what goes on beyond TorchRec's types where these are near

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
    if (options.has("timeout")) timeout_ = options.get("timeout", long_time_leaf()).value;
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
        candidates_(workload, cluster, context),
        rng_(context.seed),
        began_(std::chrono::steady_clock::now()) {}

  Plan best() {
    find_starts();
    if (!context_.host.answers(PlannerHost::Question::loads) ||
        !context_.host.answers(PlannerHost::Question::iterations))
      return without_simulator();
    if (std::optional<Plan> plan = plan_of_torchrec_alone()) return *plan;
    IterationCost cost = make_cost();
    choices_.use(cost);
    search::LocalSearchLimits limits;
    limits.evaluations = budget();
    limits.stop = [this] { return should_stop(); };
    if (options_.max_moved_) limit_moves(limits);
    LocalSearch local(workload_, cluster_, choices_, cost, std::move(limits));
    explore(local);
    for (int round = 1;; ++round) {
      judge();
      const std::int64_t lacking = candidates_.lacking_bytes();
      if (lacking <= 0 || round == kSearchRounds || should_stop()) return chosen(local);
      search_below(local, lacking);
    }
  }

 private:
  void say(const std::string& text) const { context_.host.say(text); }

  bool should_stop() {
    context_.host.stop_if_asked();
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
      say("only from the plan that 'start' names: plans of other planners were not tried, and one of them may be "
          "faster");
      return;
    }
    for (const StartPlanner& start : search::start_planners()) {
      context_.host.stop_if_asked();
      auto plan = planned_.plan_of(start, workload_, cluster_, context_, choices_);
      const bool known = plan && std::ranges::any_of(starts_, [&](const Candidate& c) { return c.plan == *plan; });
      if (plan && (!known || start.name == start.options.find("name")->scalar))
        starts_.push_back({start.name, std::move(*plan)});
    }
    for (Plan& plan : context_.host.known_plans()) {
      const bool known = std::ranges::any_of(starts_, [&](const Candidate& c) { return c.plan == plan; });
      if (!known && choices_.allows(plan)) starts_.push_back({"known", std::move(plan)});
    }
  }

  bool is_beyond_torchrec(const Plan& plan) const {
    return !beyond_torchrec(plan, workload_, row_ranks(workload_, cluster_.spec())).empty();
  }

  // Whether a plan that TorchRec cannot run is there, and none so far ahead of those that it can that no search within
  // its types gets there. Plans are made only until the best one of either kind is met.
  bool is_near_torchrec() {
    if (!options_.start_.empty()) return false;
    constexpr double kNone = std::numeric_limits<double>::infinity();
    std::ranges::stable_sort(found_, is_before);
    double beyond = kNone, within = kNone;
    for (const Found& found : found_) {
      if (!found.fits || (std::isfinite(beyond) && std::isfinite(within))) break;
      double& least = is_beyond_torchrec(plan_from(found.plan)) ? beyond : within;
      least = std::min(least, found.seconds);
    }
    return std::isfinite(beyond) && within < beyond * (1 + kFarAhead);
  }

  // Whoever forbids what TorchRec cannot run must not get a faster plan for that: the result of the very search that
  // has nothing else is one of the starts.
  void search_within_torchrec(LocalSearch& local) {
    std::optional<Plan> plan = best_within_torchrec(search::UnheardHost(context_.host));
    if (!plan) return;
    starts_.push_back({"search_torchrec", std::move(*plan)});
    if (!begin_with(local, starts_.back())) starts_.pop_back();
  }

  // Where no planner has a plan that TorchRec cannot run, a search has nothing else to begin with either, and is the
  // same as one within TorchRec's types. None where that is not so, or there is no such plan.
  std::optional<Plan> plan_of_torchrec_alone() {
    const bool is_limited = context_.constraints != nullptr && context_.constraints->by_table.contains("*") &&
                            std::ranges::all_of(context_.constraints->by_table,
                                                [](const auto& of_table) { return of_table.second.torchrec_only; });
    const auto is_beyond = [this](const Candidate& start) { return is_beyond_torchrec(start.plan); };
    if (is_limited || workload_.hugectr_pipeline() || workload_.hugectr_rows() || !options_.start_.empty() ||
        starts_.empty() || std::ranges::any_of(starts_, is_beyond))
      return std::nullopt;
    return best_within_torchrec(context_.host);
  }

  std::optional<Plan> best_within_torchrec(const PlannerHost& host) {
    Constraints within = context_.constraints == nullptr ? Constraints{} : *context_.constraints;
    within.by_table.try_emplace("*");
    for (auto& [table, constraint] : within.by_table) constraint.torchrec_only = true;
    const PlannerContext context{context_.memory, context_.seed, host, &within};
    try {
      SearchRun run(options_, workload_, cluster_, context);
      run.began_ = began_;
      run.planned_ = planned_;
      Plan plan = run.best();
      simulated_within_ = run.simulations();
      return plan;
    } catch (const Error&) {
      context_.host.stop_if_asked();  // else TorchRec has no plan
      return std::nullopt;
    }
  }

  // A command without a simulator has no times to compare: the first start that fits is as good as any.
  Plan without_simulator() const {
    for (const Candidate& start : starts_) {
      if (search::has_room(start.plan, workload_, cluster_, context_.memory)) return start.plan;
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
    return IterationCost(context_.host.outline_of(choices_.every_kind(plans)), workload_, cluster_,
                         context_.host.compute_model());
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

  void keep(const LocalSearch& local, const std::string& from = {}) {
    found_.push_back({local.plan(), local.seconds(), local.fits(), from});
  }

  // False where the compute model has no time for the plan of the start, which then is none. That of a file is an
  // error.
  bool begin_with(LocalSearch& local, Candidate& start) {
    try {
      const std::vector<Choice> choices = choices_.of_plan(start.plan);
      local.begin(choices);
      choices_.remember_tiers(choices);
    } catch (const Error& error) {
      if (error.failure() != Failure::input || !options_.start_.empty()) throw;
      candidates_.refuse(start.name, error);
      return false;
    }
    start.quick = local.seconds();
    keep(local, start.name.substr(0, start.name.find('_')));
    return true;
  }

  // Short searches from the best plans of some planners: which of them leads to the fastest shows only on the way.
  void search_shortly(LocalSearch& local, std::int64_t all) {
    std::ranges::stable_sort(found_, is_before);
    for (const Found& start : search::best_of_planners(found_, kBegun)) {
      local.begin(start.plan);
      local.descend({}, all / 32);
      local.anneal(all / 16, rng_);
      keep(local);
    }
  }

  // Plans of all tables anew, within some types, while there are evaluations for them.
  void plan_anew(LocalSearch& local, std::int64_t all) {
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
  }

  void explore(LocalSearch& local) {
    std::int64_t all = budget();
    std::erase_if(starts_, [&](Candidate& start) { return !begin_with(local, start); });
    if (found_.empty()) candidates_.throw_if_refused();
    if (options_.max_moved_) {
      local.begin(found_.front().plan);
      finish(local, all);
      return;
    }
    for (Found& crossed : search::crossed_plans(local, workload_, found_, budget() / 8))
      found_.push_back(std::move(crossed));
    search_shortly(local, all);
    if (is_near_torchrec()) {
      search_within_torchrec(local);
      all = std::min(all, local.evaluations() + all / kFreePart);
    }
    plan_anew(local, all);
    std::ranges::stable_sort(found_, is_before);
    local.begin(found_.front().plan);
    finish(local, all);
  }

  void finish(LocalSearch& local, std::int64_t all) {
    const std::int64_t relief = is_tight(local) ? all / 10 : 0;
    local.anneal((all - relief - local.evaluations()) * 4 / 5, rng_);
    local.descend({}, all - relief - local.evaluations());
    keep(local);
    std::ranges::stable_sort(found_, is_before);
    if (relief > 0) relieve(local, relief);
  }

  // True when the fullest rank has less than half of its memory left, so that plans are compared by it (lack_of_room).
  bool is_tight(const LocalSearch& local) const {
    return local.fullest() > static_cast<double>(cluster_.memory_per_rank().count) / 2;
  }

  void relieve(LocalSearch& local, std::int64_t evaluations) {
    local.begin(found_.front().plan);
    if (!is_tight(local)) return;
    local.relieve(local.seconds() * (1 + search::kNearTie), evaluations);
    keep(local);
    std::ranges::stable_sort(found_, is_before);
  }

  // From the best plan that may fit, when the memory model allows `bytes` less than before.
  void search_below(LocalSearch& local, std::int64_t bytes) {
    local.leave_room(static_cast<double>(bytes));
    for (Found& found : found_) {
      local.begin(found.plan);
      found.fits = local.fits();
    }
    std::ranges::stable_sort(found_, is_before);
    local.begin(found_.front().plan);
    const std::int64_t more = budget() / 4;
    local.allow(more);
    finish(local, local.evaluations() + more);
  }

  // Rows stay where the hash of a plan to start from has put them.
  Plan plan_from(const std::vector<Choice>& choices) const {
    if (options_.start_.empty()) return choices_.plan_of(choices, context_.seed);
    Plan plan = choices_.plan_of(choices, starts_.front().plan.hash_seed);
    plan.modules = starts_.front().plan.modules;
    return plan;
  }

  void judge() {
    for (const Candidate& start : starts_) candidates_.add(start.name, start.plan, start.quick);
    const std::size_t most = candidates_.all().size() + static_cast<std::size_t>(options_.simulations_);
    for (const Found& found : found_) {
      if (candidates_.all().size() < most) candidates_.add("search", plan_from(found.plan), found.seconds);
    }
    const bool refused = !candidates_.refusals().empty() && std::ranges::any_of(found_, &Found::fits);
    if (candidates_.all().empty() && !refused) throw_no_room();
    candidates_.judge();
  }

  Plan chosen(const LocalSearch& local) const {
    const Candidate* const best = candidates_.best();
    if (best == nullptr) candidates_.throw_over_peak(options_.place_);
    candidates_.tell(*best, local.evaluations(), simulations());
    if (timed_out_) say("the timeout ended the search: another run may find another plan");
    return best->plan;
  }

  std::int64_t simulations() const { return simulated_within_ + candidates_.simulations(); }

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
  Candidates candidates_;
  Rng rng_;
  std::chrono::steady_clock::time_point began_;
  bool timed_out_ = false;
  std::int64_t simulated_within_ = 0;  // plans, by the search within TorchRec's types
  search::StartPlans planned_;
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
