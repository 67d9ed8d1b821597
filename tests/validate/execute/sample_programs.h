#pragma once

#include <string>
#include <vector>

#include "base/tree/json.h"
#include "base/tree/yaml.h"
#include "plan/check.h"
#include "plan/planner.h"
#include "program/program_file.h"
#include "sim/lower/lower.h"
#include "study/scenario/scenario.h"
#include "validate/execute/fusion/fusion.h"

// Programs to execute in tests: the worked one of docs/formats/program.md, and small workloads lowered with any
// planner.
namespace shardsim::sample {

inline Program toy_program() {
  return read_program_file(SHARDSIM_SOURCE_DIR "/tests/program/data/toy_program.json");
}

inline const std::vector<std::string>& planners() {
  static const std::vector<std::string> options = {
      "{name: column_wise, min_partition: 32}",
      "{name: data_parallel}",
      "{name: flex}",
      "{name: flexshard_2tier, memory_budget: 0 B}",
      "{name: flexshard_3tier, memory_budget: 0 B, cut: paper, flex_stop: 'off'}",
      "{name: row_wise}",
      "{name: table_wise}",
  };
  return options;
}

// Tables as YAML list items, batch 16.
inline Workload workload(const std::string& tables, const std::string& pipeline = "none") {
  const std::string text =
      "schema: shardsim.workload/1\nname: sample\nbatch_per_gpu: 16\npipeline: " + pipeline + "\ntables:\n" + tables;
  return read_workload(parse_yaml(text, "sample"), "");
}

inline const std::string kTwoTables =
    "  - {name: a, rows: 1000, dim: 64, kind: sequence, average_length: 5, access: {family: zipf, s: 1}}\n"
    "  - {name: b, rows: 600, dim: 64, kind: sequence, average_length: 3, access: {family: zipf, s: 0.8}}\n";

inline const std::string kTwoDims =
    "  - {name: a, rows: 1000, dim: 64, kind: sequence, average_length: 5, access: {family: zipf, s: 1}}\n"
    "  - {name: b, rows: 600, dim: 96, kind: sequence, average_length: 3, access: {family: zipf, s: 0.8}}\n";

// Tables of different widths, one with two features, and features with bags of a fourth of a batch or with weights (a
// lookup of their own).
inline const std::string kPooledTables =
    "  - {name: a, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3, access: {family: zipf, s: 1}}\n"
    "  - {name: b, rows: 600, dim: 96, kind: pooled, pooling_factor: 2, access: {family: zipf, s: 0.8}}\n"
    "  - {name: c, rows: 501, dim: 64, kind: pooled, features: [{name: c1, pooling_factor: 2}, {name: c2, "
    "pooling_factor: 5.5, num_poolings: 0.25}], access: {family: zipf, s: 0.9}}\n"
    "  - {name: d, rows: 400, dim: 32, kind: pooled, pooling: mean, features: [{name: d1, pooling_factor: 4, weighted: "
    "true}], access: {family: zipf, s: 0.5}}\n";

// The whole of each table by one strategy: where its rows and columns lie on toy_2x4 goes by the table's number.
inline std::vector<Placement> placements(int number, const Table& table, Strategy strategy) {
  const std::vector<int> world{0, 1, 2, 3, 4, 5, 6, 7}, first{0, 1, 2, 3}, second{4, 5, 6, 7};
  const std::vector<int>& node = number % 2 == 0 ? first : second;
  const std::vector<int>& other = number % 2 == 0 ? second : first;
  std::vector<Placement> all;
  const auto add = [&](std::int64_t from, std::int64_t to, std::vector<std::vector<int>> holders) {
    Placement placement;
    placement.table = number;
    placement.row_end = table.rows;
    placement.column_begin = from;
    placement.column_end = to;
    placement.strategy = strategy;
    placement.holders = std::move(holders);
    placement.compute_kernel = default_kernel(strategy);
    all.push_back(placement);
  };
  const std::int64_t half = table.dim / 2;
  switch (strategy) {
    case Strategy::table_wise:
      add(0, table.dim, {{(5 * number + 1) % 8}});
      break;
    case Strategy::column_wise:
      add(0, half, {{number % 8}});
      add(half, table.dim, {{(number + 5) % 8}});
      break;
    case Strategy::table_column_wise:
      add(0, half, {{node[0]}});
      add(half, table.dim, {{node[1]}});
      break;
    case Strategy::table_row_wise:
      add(0, table.dim, {node});
      break;
    case Strategy::grid_shard:
      add(0, half, {node});
      add(half, table.dim, {other});
      break;
    case Strategy::flex:
      add(0, table.dim, {first, second});
      break;
    case Strategy::row_wise:
    case Strategy::data_parallel:
      add(0, table.dim, {world});
      break;
  }
  return all;
}

inline const std::vector<Strategy>& strategies() {
  static const std::vector<Strategy> all = {
      Strategy::data_parallel,     Strategy::flex,       Strategy::row_wise,       Strategy::column_wise,
      Strategy::table_column_wise, Strategy::table_wise, Strategy::table_row_wise, Strategy::grid_shard};
  return all;
}

inline Cluster toy_cluster() {
  return Cluster(read_cluster(load_named("toy_2x4", "clusters", SHARDSIM_SOURCE_DIR "/scenarios", {})));
}

// Table i by strategy i of the list, or all by its only one; its rows where kernel i says, those of others in device
// memory.
inline Program lowered(const std::vector<Strategy>& by_table, const Workload& workload,
                       const std::vector<std::string>& kernels = {}) {
  Plan plan;
  for (int number = 0; number < static_cast<int>(workload.tables.size()); ++number) {
    const auto index = static_cast<std::size_t>(number);
    const Strategy strategy = by_table.size() == 1 ? by_table[0] : by_table.at(index);
    for (Placement& placement : placements(number, workload.tables[index], strategy)) {
      if (index < kernels.size()) placement.compute_kernel = kernels[index];
      plan.placements.push_back(std::move(placement));
    }
  }
  const Cluster cluster = toy_cluster();
  check_plan(plan, workload, cluster, Place{"sample"});
  Program program = lower(plan, workload, cluster, {});
  program.seed = 7;
  check_program(program, Place{"sample"});
  return program;
}

// Every strategy for a pooled table, some twice, and two sequences among them.
inline Program mixed_program(const std::string& pipeline) {
  std::string tables = kPooledTables;
  std::vector<Strategy> by_table{Strategy::row_wise, Strategy::table_row_wise, Strategy::row_wise, Strategy::row_wise};
  for (const Strategy strategy : strategies()) {
    tables += "  - {name: t" + std::to_string(by_table.size()) +
              ", rows: 300, dim: 32, kind: pooled, pooling_factor: " + std::to_string(1 + by_table.size() % 4) +
              ", access: {family: zipf, s: 1}}\n";
    by_table.push_back(strategy);
  }
  tables += "  - {name: x, rows: 500, dim: 64, kind: sequence, average_length: 5, access: {family: zipf, s: 1}}\n";
  tables += "  - {name: y, rows: 300, dim: 64, kind: sequence, average_length: 3, access: {family: zipf, s: 0.8}}\n";
  by_table.push_back(Strategy::row_wise);
  by_table.push_back(Strategy::table_wise);
  return lowered(by_table, workload(tables, pipeline));
}

// Rows in device memory, in host memory, and in host memory behind a cache, in one exchange.
inline Program hosted_program(const std::string& pipeline) {
  const std::vector<Strategy> by_table{Strategy::row_wise, Strategy::table_wise, Strategy::row_wise,
                                       Strategy::column_wise};
  return lowered(by_table, workload(kPooledTables, pipeline), {"fused", "fused_uvm", "fused_uvm", "fused_uvm_caching"});
}

// On toy_2x4: 2 nodes of 4 ranks.
inline Program lowered(const std::string& planner, const Workload& workload, bool overlap = true,
                       const LoadOptions& load = {}) {
  const Cluster cluster = toy_cluster();
  const auto memory = make_memory_model(parse_yaml("{name: paper}", "sample"));
  const Plan plan =
      make_planner(parse_yaml(planner, "sample"))->plan(workload, cluster, PlannerContext{*memory, 7, {}});
  check_plan(plan, workload, cluster, Place{"sample"});
  Program program = lower(plan, workload, cluster, {.observed_payload = false, .overlap = overlap, .load = load});
  program.seed = 7;
  check_program(program, Place{"sample"});
  return program;
}

inline std::vector<Fusion> fusions(const Program& program) {
  ProgramPlaces places;
  places.program.source = "here";
  return fusions_of(program, places);
}

inline ByteMatrix& matrix_of(Program& program, const std::string& name) {
  return program.matrices.at(static_cast<std::size_t>(index_named(program.matrices, name))).bytes;
}

}  // namespace shardsim::sample
