#include "plan/autoshard/policy.h"

#include <algorithm>

#include "plan/autoshard/choices.h"

namespace shardsim {
namespace {

// One task while its tables are placed.
struct OpenTask {
  const ShardingTask* task = nullptr;
  std::vector<int> order;
  std::vector<double> bytes;      // by rank
  std::vector<float> size, cost;  // by rank: GiB as features have it, predicted cost (0 when empty)

  std::vector<bool> room_for(int table) const {
    std::vector<bool> room;
    for (const double held : bytes) room.push_back(held + task->bytes[static_cast<std::size_t>(table)] <= task->room);
    return room;
  }
};

std::size_t size_feature() {
  const std::vector<std::string>& names = feature_names(FeatureLayout::autoshard);
  return static_cast<std::size_t>(std::ranges::find(names, "size") - names.begin());
}

// The cost model's outputs for single tables.
std::vector<float> single_costs(const PolicyNet<float>& net, std::span<const float> parameters,
                                std::span<const float> values) {
  const ShardNet<float>& costs = net.costs();
  const std::span<const float> of_costs = net.of_costs(parameters);
  DenseStack<float>::Outputs tables, head;
  costs.tables().forward(costs.of_tables(of_costs), values, tables);
  costs.head().forward(costs.of_head(of_costs), tables.back(), head);
  return head.back();
}

class Game {
 public:
  Game(const ShardingPolicy& policy, std::span<const ShardingTask* const> tasks)
      : policy_(policy), net_(static_cast<int>(policy.used.size())) {
    Episodes<float>& episodes = played_.episodes;
    episodes.tables = tasks.front()->tables();
    episodes.ranks = tasks.front()->ranks;
    episodes.count = static_cast<int>(tasks.size());
    episodes.features = static_cast<int>(policy.used.size());
    for (const ShardingTask* task : tasks) open(*task);
    fill_values();
    episodes.rank_of.assign(static_cast<std::size_t>(episodes.steps()), 0);
    net_.start(policy.parameters, episodes, played_.pass);
  }

  void step(int step, const RankChoice& choice) {
    Episodes<float>& episodes = played_.episodes;
    for (const OpenTask& open : open_)
      for (std::size_t r = 0; r < open.cost.size(); ++r) {
        episodes.loads.push_back(open.cost[r]);
        episodes.loads.push_back(open.size[r]);
      }
    const std::span<const float> logits = net_.offer(policy_.parameters, episodes, step, played_.pass);
    const auto ranks = static_cast<std::size_t>(episodes.ranks);
    for (std::size_t e = 0; e < open_.size(); ++e) {
      const int table = open_[e].order[static_cast<std::size_t>(step)];
      const int rank = choice(logits.subspan(e * ranks, ranks), open_[e].room_for(table));
      put(open_[e], table, rank);
      episodes.rank_of[static_cast<std::size_t>(step) * open_.size() + e] = rank;
      played_.rank_of[e][static_cast<std::size_t>(table)] = rank;
    }
    net_.place(episodes, step, played_.pass);
    predict(step);
  }

  Played take() { return std::move(played_); }

 private:
  void open(const ShardingTask& task) {
    const auto ranks = static_cast<std::size_t>(task.ranks);
    const std::vector<float> values = policy_.scaled(task.features);
    OpenTask& opened = open_.emplace_back();
    opened.task = &task;
    opened.order = falling(single_costs(net_, policy_.parameters, values));
    opened.bytes.assign(ranks, 0.0);
    opened.size.assign(ranks, 0.0F);
    opened.cost.assign(ranks, 0.0F);
    played_.order.push_back(opened.order);
    played_.rank_of.emplace_back(static_cast<std::size_t>(task.tables()), -1);
    values_.push_back(values);
  }

  void fill_values() {
    const auto width = static_cast<std::ptrdiff_t>(policy_.used.size());
    for (std::size_t step = 0; step < static_cast<std::size_t>(played_.episodes.tables); ++step)
      for (std::size_t e = 0; e < open_.size(); ++e) {
        const auto from = values_[e].begin() + open_[e].order[step] * width;
        played_.episodes.values.insert(played_.episodes.values.end(), from, from + width);
      }
  }

  void put(OpenTask& open, int table, int rank) const {
    const auto index = static_cast<std::size_t>(table), at = static_cast<std::size_t>(rank);
    open.bytes[at] += open.task->bytes[index];
    open.size[at] += open.task->features[index * policy_.used.size() + size_feature()];
  }

  // The cost of the shards that have grown in this step.
  void predict(int step) {
    constexpr int kVector = PolicyNet<float>::kVector;
    const int count = played_.episodes.count, ranks = played_.episodes.ranks;
    std::vector<float> sums;
    for (int e = 0; e < count; ++e) {
      const int rank = played_.episodes.rank_of[static_cast<std::size_t>(step * count + e)];
      const float* from = played_.pass.sums.data() + static_cast<std::ptrdiff_t>(e * ranks + rank) * kVector;
      sums.insert(sums.end(), from, from + kVector);
    }
    DenseStack<float>::Outputs head;
    net_.costs().head().forward(net_.costs().of_head(net_.of_costs(policy_.parameters)), sums, head);
    for (std::size_t e = 0; e < open_.size(); ++e) {
      const int rank = played_.episodes.rank_of[static_cast<std::size_t>(step) * open_.size() + e];
      open_[e].cost[static_cast<std::size_t>(rank)] = head.back()[e];
    }
  }

  const ShardingPolicy& policy_;
  PolicyNet<float> net_;
  std::vector<OpenTask> open_;
  std::vector<std::vector<float>> values_;
  Played played_;
};

constexpr const char* kPolicySchema = "shardsim.policy/1";

}  // namespace

Played play(const ShardingPolicy& policy, std::span<const ShardingTask* const> tasks, const RankChoice& choice) {
  Game game(policy, tasks);
  for (int step = 0; step < tasks.front()->tables(); ++step) game.step(step, choice);
  return game.take();
}

int best_with_room(std::span<const float> scores, const std::vector<bool>& room) {
  const bool any = std::ranges::find(room, true) != room.end();
  int best = -1;
  for (std::size_t r = 0; r < scores.size(); ++r) {
    if (any && !room[r]) continue;
    if (best < 0 || scores[r] > scores[static_cast<std::size_t>(best)]) best = static_cast<int>(r);
  }
  return best;
}

std::vector<int> placed(const ShardingPolicy& policy, const ShardingTask& task) {
  if (task.tables() == 0) return {};
  const ShardingTask* one = &task;
  return play(policy, {&one, 1}, best_with_room).rank_of.front();
}

std::vector<int> dealt_by_costs(const ShardingPolicy& policy, const ShardingTask& task) {
  if (task.tables() == 0) return {};
  constexpr std::size_t kVector = PolicyNet<float>::kVector;
  const PolicyNet<float> net(static_cast<int>(policy.used.size()));
  const std::vector<float> values = policy.scaled(task.features);
  const std::span<const float> of_costs = net.of_costs(policy.parameters);
  DenseStack<float>::Outputs tables, head;
  net.costs().tables().forward(net.costs().of_tables(of_costs), values, tables);
  const auto ranks = static_cast<std::size_t>(task.ranks);
  std::vector<float> sums(ranks * kVector), scores(ranks, 0.0F);
  std::vector<double> bytes(ranks, 0.0);
  std::vector<int> rank_of(static_cast<std::size_t>(task.tables()));
  for (const int table : falling(single_costs(net, policy.parameters, values))) {
    const auto index = static_cast<std::size_t>(table);
    std::vector<bool> room;
    for (const double held : bytes) room.push_back(held + task.bytes[index] <= task.room);
    const auto rank = static_cast<std::size_t>(rank_of[index] = best_with_room(scores, room));
    bytes[rank] += task.bytes[index];
    for (std::size_t k = 0; k < kVector; ++k) sums[rank * kVector + k] += tables.back()[index * kVector + k];
    const std::span<const float> shard = std::span<const float>(sums).subspan(rank * kVector, kVector);
    net.costs().head().forward(net.costs().of_head(of_costs), shard, head);
    scores[rank] = -head.back().front();
  }
  return rank_of;
}

void save_policy(const ShardingPolicy& policy, const std::filesystem::path& path) {
  Hdf5Writer file;
  write_trained_on(file, kPolicySchema, policy);
  file.attribute<double>("/", "balance", policy.balance);
  file.scale<std::int32_t>("/parameter", policy.parameters.size(), {"1", "number of the parameter"},
                           Hdf5Layout::packed);
  file.dataset<float>("/parameters", policy.parameters, {"/parameter"},
                      {"1", "parts and their order: plan/autoshard/policy_net.cpp"});
  file.save(path);
}

ShardingPolicy read_policy(const std::filesystem::path& file, const std::string& provider) {
  const LearnedFile learned(file);
  ShardingPolicy policy;
  read_trained_on(learned, kPolicySchema, provider, policy);
  policy.balance = learned.hdf5.real_attribute("/", "balance");
  if (!(policy.balance >= 0 && policy.balance <= 1)) learned.hdf5.refuse("its balance is not between 0 and 1");
  // Every size is checked against what the net needs.
  const PolicyNet<float> net(static_cast<int>(policy.used.size()));
  policy.parameters = learned.reals("/parameters", net.parameter_count());
  return policy;
}

}  // namespace shardsim
