#pragma once

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/tree/yaml.h"
#include "models/workload/workload.h"
#include "plan/planner.h"
#include "tests/base/error_text.h"
#include "tests/plan/hand_context.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// A cluster of NVSwitch nodes with round rates; only its shape matters to planners.
inline Cluster test_cluster(int nodes, int gpus, const std::string& hbm = "40 GB") {
  return Cluster(read_cluster(parse_yaml(fmt::format(R"(
schema: shardsim.cluster/1
name: test
nodes: {}
gpu: {{model: toy, count: {}, compute_capability: "8.0", hbm: "{}", hbm_bandwidth: "1000 GB/s", flops: {{fp32: "10 TFLOP/s"}}}}
nvlink: {{kind: switch, links_per_gpu: 1, per_link: "100 GB/s", latency: "1 us"}}
nics: {{per_gpu: 1, rate: "80 Gbit/s", latency: "2 us"}}
)",
                                                     nodes, gpus, hbm),
                                         "test_cluster")));
}

inline nlohmann::json flexshard_points() {
  std::ifstream file(SHARDSIM_SOURCE_DIR "/tests/plan/data/flexshard_points.json");
  return nlohmann::json::parse(file);
}

inline Table sequence_table(const std::string& name, std::uint64_t rows, std::int64_t dim = 256) {
  Table table;
  table.name = name;
  table.rows = rows;
  table.dim = dim;
  table.kind = TableKind::sequence;
  table.features = {{name, 1, 1, false}};
  table.average_length = 100;
  return table;
}

inline Table pooled_table(const std::string& name, std::uint64_t rows, std::int64_t dim, double pooling = 1) {
  Table table = sequence_table(name, rows, dim);
  table.kind = TableKind::pooled;
  table.features = {{name, pooling, 1, false}};
  table.average_length = pooling;
  return table;
}

// A piecewise power law with knots at whole ranks.
inline Table power_law_table(const std::string& name, std::uint64_t rows, const std::vector<double>& fractions,
                             const std::vector<double>& ln_p) {
  Table table = sequence_table(name, rows);
  table.average_length = 0;
  table.access.family = "piecewise_power_law";
  for (std::size_t i = 0; i < ln_p.size(); ++i) {
    table.access.knots.push_back({std::round(fractions[i] * static_cast<double>(rows)), ln_p[i]});
  }
  return table;
}

// One of RM-1 .. RM-4 as fitted to Table 5 of the FlexShard paper.
inline Table study_table(const nlohmann::json& points, const std::string& model) {
  const nlohmann::json& entry = points["models"][model];
  return power_law_table(model, entry["rows"], points["knot_fractions"], entry["ln_p"]);
}

inline Workload workload_of(std::vector<Table> tables, std::int64_t batch = 4096) {
  Workload workload;
  workload.name = "test";
  workload.batch_per_gpu = batch;
  workload.tables = std::move(tables);
  return workload;
}

// So many pooled tables, each larger than the one before.
inline Workload pooled_workload(int tables) {
  std::vector<Table> all;
  for (int t = 0; t < tables; ++t) {
    Table table = sequence_table("t" + std::to_string(t), 1000 * static_cast<std::uint64_t>(t + 1), 32);
    table.kind = TableKind::pooled;
    table.average_length = 1 + t % 5;
    all.push_back(table);
  }
  return workload_of(all, 64);
}

inline Tree options(const std::string& yaml) {
  return parse_yaml(yaml, "options.yaml");
}

inline std::unique_ptr<MemoryModel> paper_memory() {
  return make_memory_model(options("{name: paper}"));
}

// A kernel takes 1 us and 1 ms per GB.
class HandCompute final : public ComputeModel {
 public:
  Seconds seconds(const ComputeWork& work, const GpuSpec&) const override { return {1e-6 + 1e-12 * work.hbm_bytes}; }
};

// The load that one placement adds, much simplified: every holder reads and updates its share of the batch's elements
// and exchanges them with every rank.
inline PlacementLoad hand_load(const Placement& placement, const Workload& workload, const Cluster& cluster) {
  const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
  std::vector<double> elements(static_cast<std::size_t>(cluster.world_size()), 0.0);
  for (const std::vector<int>& group : placement.holders) {
    for (const int rank : group) {
      elements[static_cast<std::size_t>(rank)] += table.distribution().total() *
                                                  static_cast<double>(placement.columns() * workload.batch_per_gpu) /
                                                  placement.shards();
    }
  }
  PlacementLoad load;
  for (const auto phase : {LoadStep::Phase::forward, LoadStep::Phase::update}) {
    const bool forward = phase == LoadStep::Phase::forward;
    LoadStep kernel;
    kernel.key = forward ? "lookup" : "update";
    kernel.phase = phase;
    kernel.hbm_bytes = elements;
    LoadStep exchange;
    exchange.key = kernel.key + " exchange";
    exchange.phase = forward ? phase : LoadStep::Phase::backward;
    exchange.collective = CollectiveKind::all_to_all;
    exchange.bytes_to = elements;
    exchange.returns = forward;
    load.steps.insert(load.steps.end(), {kernel, exchange});
  }
  return load;
}

inline void add_hand_costs(HandHost& context, const Workload& workload, const Cluster& cluster) {
  static const HandCompute compute;
  context.compute = &compute;
  context.load = [&](const Placement& placement) { return hand_load(placement, workload, cluster); };
}

// The plan of the planner that `yaml` describes.
inline Plan plan_by(const std::string& yaml, const Workload& workload, const Cluster& cluster, std::uint64_t seed = 1) {
  const auto memory = paper_memory();
  HandContext context{*memory, seed};
  add_hand_costs(context, workload, cluster);
  return make_planner(options(yaml))->plan(workload, cluster, context);
}

// Rows of one table held under a strategy.
inline std::int64_t rows_of(const Plan& plan, Strategy strategy, int table = 0) {
  std::int64_t rows = 0;
  for (const Placement& placement : plan.placements) {
    if (placement.table == table && placement.strategy == strategy) rows += static_cast<std::int64_t>(placement.rows());
  }
  return rows;
}

}  // namespace shardsim
