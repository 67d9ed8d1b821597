#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "tests/physics/lab.h"

// Random workloads with random plans of given sharding types on clusters of 2 to 4 nodes of 2 to 4 GPUs, from a seed.
// Ids are spread evenly over rows.
namespace shardsim::physics {

struct RandomChoice {
  std::vector<Strategy> strategies;
  std::vector<TableKind> kinds = {TableKind::pooled, TableKind::sequence};
  std::string pipeline = "none", optimizer = "rowwise_adagrad";
  std::string dense = "{}";
  std::vector<std::string> kernels = {"fused"};  // of what is not replicated
};

struct RandomPlan {
  const Cluster* cluster = nullptr;
  Workload workload;
  Plan plan;
};

// The toy cluster in another shape, built once.
inline const Cluster& shaped_cluster(int nodes, int per_node) {
  static std::map<std::pair<int, int>, Cluster> known;
  const auto found = known.find({nodes, per_node});
  if (found != known.end()) return found->second;
  ClusterSpec spec = cluster_spec("toy_2x4.yaml", nodes);
  spec.gpu.count = per_node;
  return known.emplace(std::pair{nodes, per_node}, Cluster(spec)).first->second;
}

template <class Value>
const Value& one_of(Rng& rng, const std::vector<Value>& values) {
  return values[rng.below(values.size())];
}

inline std::vector<int> ranks_of_node(const Cluster& cluster, int node) {
  std::vector<int> ranks = all_ranks(cluster.ranks_per_node());
  for (int& rank : ranks) rank += node * cluster.ranks_per_node();
  return ranks;
}

// True when TorchRec's blocks of ceil(rows / shards) rows leave no shard empty.
inline bool no_empty_block(std::uint64_t rows, std::uint64_t shards) {
  const std::uint64_t block = (rows + shards - 1) / shards;
  return (rows + block - 1) / block == shards;
}

// Pooling factors are whole for every second table, else 125ths, which never make half an id: the last bit of a sum
// would decide where that goes. Rows fill every shard of TorchRec's cut.
inline std::string random_table(Rng& rng, int index, TableKind kind, const Cluster& cluster) {
  std::uint64_t rows = 0;
  do {
    rows = 16 + rng.below(4000);
  } while (!no_empty_block(rows, static_cast<std::uint64_t>(cluster.world_size())) ||
           !no_empty_block(rows, static_cast<std::uint64_t>(cluster.ranks_per_node())));
  const bool whole = rng.below(2) == 0;
  const auto factor = [&] {
    return whole ? static_cast<double>(1 + rng.below(20)) : static_cast<double>(125 + rng.below(2500)) / 125;
  };
  const std::string head = fmt::format("  - {{name: t{}, rows: {}, dim: {}, dtype: {}, ", index, rows,
                                       12 * (1 + rng.below(16)), one_of<std::string>(rng, {"fp32", "fp32", "fp16"}));
  if (kind == TableKind::sequence) return fmt::format("{}kind: sequence, average_length: {}}}\n", head, factor());
  std::string features;
  const std::uint64_t count = 1 + rng.below(3);
  for (std::uint64_t f = 0; f < count; ++f) {
    features += fmt::format("{}{{name: t{}_{}, pooling_factor: {}, num_poolings: {}, weighted: {}}}",
                            f == 0 ? "" : ", ", index, f, factor(), 1 + rng.below(2), rng.below(4) == 0);
  }
  return fmt::format("{}kind: pooled, features: [{}]}}\n", head, features);
}

inline std::vector<std::vector<int>> random_holders(Rng& rng, Strategy strategy, const Cluster& cluster, int home) {
  const auto below = [&](int n) { return static_cast<int>(rng.below(static_cast<std::uint64_t>(n))); };
  switch (strategy) {
    case Strategy::data_parallel:
    case Strategy::row_wise:
      return {all_ranks(cluster.world_size())};
    case Strategy::table_row_wise:
      return {ranks_of_node(cluster, home)};
    case Strategy::grid_shard:
      return {ranks_of_node(cluster, below(cluster.nodes()))};
    case Strategy::table_column_wise:
      return {{one_of(rng, ranks_of_node(cluster, home))}};
    default:
      return {{below(cluster.world_size())}};
  }
}

inline void place_at_random(Rng& rng, Plan& plan, int index, const Table& table, const RandomChoice& choice,
                            const Cluster& cluster) {
  const Strategy strategy = one_of(rng, choice.strategies);
  const int home = static_cast<int>(rng.below(static_cast<std::uint64_t>(cluster.nodes())));
  const std::int64_t blocks = in_columns(strategy) ? 1 + static_cast<std::int64_t>(rng.below(3)) : 1;
  const std::string kernel = replicated(strategy) ? default_kernel(strategy) : one_of(rng, choice.kernels);
  for (std::int64_t block = 0; block < blocks; ++block) {
    Placement placement;
    placement.table = index;
    placement.row_end = table.rows;
    placement.column_begin = block * table.dim / blocks;
    placement.column_end = (block + 1) * table.dim / blocks;
    placement.strategy = strategy;
    placement.compute_kernel = kernel;
    placement.holders = random_holders(rng, strategy, cluster, home);
    plan.placements.push_back(placement);
  }
}

inline RandomPlan random_plan(std::uint64_t seed, const RandomChoice& choice) {
  Rng rng(seed);
  RandomPlan made;
  made.cluster = &shaped_cluster(2 + static_cast<int>(rng.below(3)), 2 + static_cast<int>(rng.below(3)));
  std::string text = fmt::format(
      "schema: shardsim.workload/1\nname: random\nbatch_per_gpu: {}\ninput_exchange: full\npipeline: {}\n"
      "wire_dtype: {{forward: table, backward: table}}\noptimizer: {{name: {}}}\ndense: {}\ntables:\n",
      1 + rng.below(200), choice.pipeline, choice.optimizer, choice.dense);
  const int tables = 1 + static_cast<int>(rng.below(5));
  for (int table = 0; table < tables; ++table) {
    text += random_table(rng, table, one_of(rng, choice.kinds), *made.cluster);
  }
  made.workload = read_workload(parse_yaml(text, "random"), "");
  for (int table = 0; table < tables; ++table) {
    place_at_random(rng, made.plan, table, made.workload.tables[static_cast<std::size_t>(table)], choice,
                    *made.cluster);
  }
  check_plan(made.plan, made.workload, *made.cluster, Place{"test"});
  return made;
}

// The same plan, whose sequences ask for every id once per rank.
inline RandomPlan deduplicated(RandomPlan made) {
  for (Table& table : made.workload.tables) table.index_dedup = table.kind == TableKind::sequence;
  return made;
}

inline Program lowered_at_random(const RandomPlan& made) {
  Program program = lower(made.plan, made.workload, *made.cluster, even_rows());
  check_program(program, Place{"test"});
  return program;
}

// The sharding types that TorchRec knows.
inline const std::vector<Strategy>& torchrec_strategies() {
  static const std::vector<Strategy> all = {
      Strategy::column_wise,       Strategy::data_parallel,  Strategy::grid_shard, Strategy::row_wise,
      Strategy::table_column_wise, Strategy::table_row_wise, Strategy::table_wise};
  return all;
}

}  // namespace shardsim::physics
