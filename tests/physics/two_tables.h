#pragma once

#include <fmt/format.h>

#include "sim/engine/op_work.h"
#include "tests/physics/lab.h"

// The setting of docs/lowering.md, "Worked byte counts": 2 nodes of 4 ranks, batch 32, tables A (1000 x 64, 3 items a
// sample) and B (600 x 64, 2 items), fp32, ids of 8 bytes; and the placements of each sharding type there.
namespace shardsim::physics {

inline Workload two_tables_of(TableKind kind, const std::string& more = "") {
  const auto table = [&](const char* name, int rows, int items) {
    const char* const length =
        kind == TableKind::pooled ? "kind: pooled, pooling_factor" : "kind: sequence, average_length";
    return fmt::format("  - {{name: {}, rows: {}, dim: 64, {}: {}}}\n", name, rows, length, items);
  };
  return read_workload(parse_yaml("schema: shardsim.workload/1\nname: two_tables\nbatch_per_gpu: 32\n" + more +
                                      "tables:\n" + table("a", 1000, 3) + table("b", 600, 2),
                                  "two_tables"),
                       "");
}

inline Placement placed(int table, Strategy strategy, std::vector<std::vector<int>> holders,
                        std::pair<std::int64_t, std::int64_t> columns = {0, 64}) {
  Placement placement;
  placement.table = table;
  placement.row_end = table == 0 ? 1000 : 600;
  placement.column_begin = columns.first;
  placement.column_end = columns.second;
  placement.strategy = strategy;
  placement.holders = std::move(holders);
  placement.compute_kernel = default_kernel(strategy);
  return placement;
}

// A on one rank, node or pair of ranks, B on another.
inline Plan plan_of(Strategy strategy) {
  const std::pair<std::int64_t, std::int64_t> left{0, 32}, right{32, 64};
  const std::vector<int> world = {0, 1, 2, 3, 4, 5, 6, 7}, first = {0, 1, 2, 3}, second = {4, 5, 6, 7};
  switch (strategy) {
    case Strategy::table_wise:
      return {{placed(0, strategy, {{0}}), placed(1, strategy, {{5}})}};
    case Strategy::column_wise:
      return {{placed(0, strategy, {{0}}, left), placed(0, strategy, {{1}}, right), placed(1, strategy, {{2}}, left),
               placed(1, strategy, {{5}}, right)}};
    case Strategy::table_column_wise:
      return {{placed(0, strategy, {{0}}, left), placed(0, strategy, {{1}}, right), placed(1, strategy, {{4}}, left),
               placed(1, strategy, {{5}}, right)}};
    case Strategy::table_row_wise:
      return {{placed(0, strategy, {first}), placed(1, strategy, {second})}};
    case Strategy::grid_shard:
      return {{placed(0, strategy, {first}, left), placed(0, strategy, {second}, right),
               placed(1, strategy, {first}, left), placed(1, strategy, {second}, right)}};
    case Strategy::flex:
      return {{placed(0, strategy, {first, second}), placed(1, strategy, {first, second})}};
    case Strategy::row_wise:
    case Strategy::data_parallel:
      break;
  }
  return {{placed(0, strategy, {world}), placed(1, strategy, {world})}};
}

inline Program lowered_plan(const Plan& plan, const Workload& workload, const Cluster& cluster) {
  check_plan(plan, workload, cluster, Place{"test"});
  Program program = lower(plan, workload, cluster, {});
  check_program(program, Place{"test"});
  return program;
}

inline PairBytes moved(const Program& program, const Op& op) {
  return pair_bytes(program, op, resolve_matrix(program, op.matrix));
}

inline Cluster toy_cluster() {
  return Cluster(cluster_spec("toy_2x4.yaml"));
}

}  // namespace shardsim::physics
