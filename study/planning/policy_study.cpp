#include "study/planning/policy_study.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "base/text.h"
#include "base/tree/tree_editor.h"
#include "models/compute/compute_model.h"
#include "plan/planner.h"
#include "study/planning/prepared_case.h"

namespace shardsim {
namespace {

// The closed form is the roofline's; another model of the GPU gives its own name.
std::string provider_of(const Tree& compute_model) {
  return is_roofline(compute_model) ? "closed_form" : compute_model_name(compute_model);
}

std::vector<int> random_ranks(const ShardingTask& task, Rng& rng) {
  std::vector<int> rank_of;
  for (int table = 0; table < task.tables(); ++table)
    rank_of.push_back(static_cast<int>(rng.below(static_cast<std::uint64_t>(task.ranks))));
  return rank_of;
}

constexpr int kRandomDraws = 20;  // per task: one may be anything

// AutoShard's random search (KDD 2022, section 5.3) takes the most even of so many random plans.
constexpr int kSearched[] = {10, 100, 1000};

double largest_ms(const std::vector<double>& seconds) {
  return *std::ranges::max_element(seconds) * 1e3;
}

// Adds up what one way makes of task after task.
class WayJudge {
 public:
  explicit WayJudge(std::string way) { result_.way = std::move(way); }

  void add(const ShardingTask& task, const std::vector<int>& rank_of, double random_ms) {
    if (rank_of.empty()) return;
    const std::vector<double> seconds = task.label(rank_of);
    add(balance(seconds), largest_ms(seconds), random_ms);
  }

  // Several random places of one task, as one; returns the mean of their slowest shards.
  double add_random(const ShardingTask& task, Rng& rng) {
    double even = 0, slowest = 0;
    for (int draw = 0; draw < kRandomDraws; ++draw) {
      const std::vector<double> seconds = task.label(random_ranks(task, rng));
      even += balance(seconds) / kRandomDraws;
      slowest += largest_ms(seconds) / kRandomDraws;
    }
    add(even, slowest, slowest);
    return slowest;
  }

  BalanceResult result() const {
    BalanceResult means = result_;
    for (double* value : {&means.balance, &means.largest_ms, &means.speed_up}) *value /= std::max(1, means.solved);
    return means;
  }

 private:
  void add(double even, double slowest_ms, double random_ms) {
    result_.least_balance = result_.solved == 0 ? even : std::min(result_.least_balance, even);
    ++result_.solved;
    result_.balance += even;
    result_.largest_ms += slowest_ms;
    result_.speed_up += random_ms / slowest_ms;
  }

  BalanceResult result_;
};

// The places that random search has found after each number of draws of kSearched; none where no draw fits in memory.
std::vector<std::vector<int>> searched_at_random(const ShardingTask& task, Rng& rng) {
  std::vector<std::vector<int>> found;
  std::vector<int> best;
  double even = -1;
  int draws = 0;
  for (const int wanted : kSearched) {
    for (; draws < wanted; ++draws) {
      std::vector<int> rank_of = random_ranks(task, rng);
      if (bytes_over(task, rank_of) > 0) continue;
      const double balanced = balance(task.label(rank_of));
      if (balanced <= even) continue;
      even = balanced;
      best = std::move(rank_of);
    }
    found.push_back(best);
  }
  return found;
}

const std::vector<std::string>& greedy_scores() {
  static const std::vector<std::string> scores{"cost", "lookup", "size_lookup", "dim", "size"};
  return scores;
}

// Adds up what the placements of one way take.
class PlacementJudge {
 public:
  explicit PlacementJudge(std::string way) { result_.way = std::move(way); }

  void add(double seconds, double random_seconds) {
    ++result_.solved;
    result_.ms += seconds * 1e3;
    result_.speed_up += random_seconds / seconds;
  }

  PlacementResult result() const {
    PlacementResult means = result_;
    for (double* value : {&means.ms, &means.speed_up}) *value /= std::max(1, means.solved);
    return means;
  }

 private:
  PlacementResult result_;
};

double mean_of_random(const PlacementTask& task, Rng& rng) {
  double sum = 0;
  for (int draw = 0; draw < kRandomDraws; ++draw) sum += task.measure(random_ranks(task, rng)).all;
  return sum / kRandomDraws;
}

Tree greedy_by(const std::string& score) {
  Tree planner = named_map("greedy");
  set_path(planner, "score", text_tree(score, {"score"}));
  return planner;
}

}  // namespace

struct PolicyCase::Parts : PlannerHost {
  Parts(const Case& of, std::uint64_t seed, Asked asked)
      : item(of),
        cluster(cluster_of(of)),
        memory(make_memory_model(of.memory_model)),
        compute(make_compute_model(of.compute_model)),
        context{*memory, seed, *this} {
    task = sharding_task(item.workload, cluster, context, provider_of(item.compute_model));
    task.name = item.name;
    if (asked == Asked::places) refuse_unplaceable(task);
  }

  bool answers(Question question) const override { return question == Question::loads; }
  PlacementLoad load_of(const Placement& placement) const override {
    LoweringOptions options;
    options.row_tables = asks_tables(item.compute_model);
    return placement_load(placement, item.workload, cluster, options);
  }
  const ComputeModel& compute_model() const override { return *compute; }
  std::string kernels() const override { return kernel_family_name(item.compute_model); }

  const Case& item;
  const Cluster cluster;
  std::unique_ptr<MemoryModel> memory;
  std::unique_ptr<ComputeModel> compute;
  PlannerContext context;
  ShardingTask task;
};

PolicyCase::PolicyCase(const Case& item, std::uint64_t seed, Asked asked) {
  try {
    parts_ = std::make_unique<Parts>(item, seed, asked);
  } catch (const Error& error) {
    throw in_case(item, error);
  }
}
PolicyCase::~PolicyCase() = default;
PolicyCase::PolicyCase(PolicyCase&&) noexcept = default;
PolicyCase& PolicyCase::operator=(PolicyCase&&) noexcept = default;

const ShardingTask& PolicyCase::task() const {
  return parts_->task;
}

PlacementTask PolicyCase::with_exchanges() const {
  PlacementTask task =
      placement_task(parts_->item.workload, parts_->cluster, parts_->context, parts_->task.setting.provider);
  task.name = parts_->task.name;
  return task;
}

std::vector<int> PolicyCase::placed_by(const Tree& planner) const try {
  const Plan plan = make_planner(planner)->plan(parts_->item.workload, parts_->cluster, parts_->context);
  std::vector<int> rank_of;
  for (const Placement& placement : plan.placements) rank_of.push_back(placement.holders.front().front());
  return rank_of;
} catch (const Error& error) {
  if (error.failure() == Failure::infeasible) return {};
  throw;
}

std::vector<BalanceResult> judge_policy(const ShardingPolicy& policy, const std::vector<PolicyCase>& cases) {
  const std::vector<std::string>& scores = greedy_scores();
  std::vector<WayJudge> judges{WayJudge("policy"), WayJudge("greedy, costs of the policy")};
  for (const std::string& score : scores) judges.emplace_back("greedy, score " + score);
  const std::size_t of_search = judges.size();
  for (const int draws : kSearched) judges.emplace_back("random, best of " + with_thousands(draws));
  WayJudge random("random");
  Rng rng(1), search_rng(2);  // the same random places for every policy
  for (const PolicyCase& item : cases) {
    const ShardingTask& task = item.task();
    const double random_ms = random.add_random(task, rng);
    const auto within = [&](std::vector<int> rank_of) {
      const std::vector<double> held = bytes_held(task, rank_of);
      return *std::ranges::max_element(held) <= task.room ? rank_of : std::vector<int>{};
    };
    judges[0].add(task, within(placed(policy, task)), random_ms);
    judges[1].add(task, within(dealt_by_costs(policy, task)), random_ms);
    for (std::size_t i = 0; i < scores.size(); ++i)
      judges[2 + i].add(task, item.placed_by(greedy_by(scores[i])), random_ms);
    const std::vector<std::vector<int>> searched = searched_at_random(task, search_rng);
    for (std::size_t i = 0; i < searched.size(); ++i) judges[of_search + i].add(task, searched[i], random_ms);
  }
  std::vector<BalanceResult> results;
  for (const WayJudge& judge : judges) results.push_back(judge.result());
  results.push_back(random.result());
  return results;
}

PlacementJudgement judge_placing(const PlacingPolicy& policy, const std::vector<PolicyCase>& cases,
                                 std::uint64_t seed) {
  const GameCounts games;
  const std::vector<GameCounts> ways{games, {games.samples, 0}, {0, 0}};
  std::vector<PlacementJudge> judges{PlacementJudge("policy"), PlacementJudge("policy, none measured"),
                                     PlacementJudge("policy, no samples")};
  for (const std::string& score : greedy_scores()) judges.emplace_back("greedy, score " + score);
  judges.emplace_back("random");
  PlacementJudgement judgement;
  Rng rng(1);  // the same random places for every policy
  for (const PolicyCase& item : cases) {
    const PlacementTask task = item.with_exchanges();
    const double random = mean_of_random(task, rng);
    judges.back().add(random, random);
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const GamePlan plan = best_of_games(policy, task, ways[way], seed);
      if (bytes_over(task, plan.rank_of) > 0) continue;
      const double seconds = task.measure(plan.rank_of).all;
      judges[way].add(seconds, random);
      if (ways[way].measured == 0 && ways[way].samples > 0)
        judgement.cost_error += std::abs(plan.seconds - seconds) / seconds;
    }
    for (std::size_t i = 0; i < greedy_scores().size(); ++i) {
      const std::vector<int> rank_of = item.placed_by(greedy_by(greedy_scores()[i]));
      if (!rank_of.empty()) judges[ways.size() + i].add(task.measure(rank_of).all, random);
    }
  }
  for (const PlacementJudge& judge : judges) judgement.ways.push_back(judge.result());
  judgement.cost_error /= std::max(1, judgement.ways[1].solved);
  return judgement;
}

}  // namespace shardsim
