// NeuroShard's search with learned costs, at its published settings (N 10, K 3, L 10, M 11) and largest columns (128):
// CPU time of one plan, median over tasks, on one core. Issue 12 asks for at most 25 ms on 4 GPUs and 60 ms on 8 (no
// cache: 60 and 120), for the same plans with and without the cache, for at least 5 times fewer predictions with it and
// a hit rate of at least 85 %. The tasks are drawn as the papers draw theirs (gen_tasks.py of daochenzha/neuroshard at
// ec7ca74), of tables whose rows and pooling factors have about the published spread.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>

#include "base/rng.h"
#include "base/tree/yaml.h"
#include "models/collective/collective.h"
#include "models/learned/cost_model.h"
#include "plan/column_shards/shard_costs.h"
#include "plan/planner.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

constexpr int kPoolTables = 856, kTasks = 40;
constexpr std::int64_t kBatch = 65'536;

double normal(Rng& rng) {
  return std::sqrt(-2 * std::log(1 - rng.uniform())) * std::cos(2 * M_PI * rng.uniform());
}

Table pool_table(int index, Rng& rng) {
  Table table;
  table.name = "t" + std::to_string(index);
  table.rows = static_cast<std::uint64_t>(100 + 12'543'570 * std::pow(rng.uniform(), 2.05));
  table.dim = 128;
  table.kind = TableKind::pooled;
  table.average_length = std::min(193.9, std::exp(1.8763 + 1.5 * normal(rng)));
  table.features = {{"f", table.average_length, 1, false}};
  table.access.family = "zipf";
  table.access.s = 1.05;
  return table;
}

Workload workload_of(std::vector<Table> tables, int ranks) {
  Workload workload;
  workload.name = "task";
  workload.batch_per_gpu = kBatch / ranks;
  workload.tables = std::move(tables);
  workload.optimizer = "sgd";
  workload.input_exchange = "none";
  return workload;
}

std::vector<Table> pool() {
  Rng rng(1);
  std::vector<Table> tables;
  for (int i = 0; i < kPoolTables; ++i) tables.push_back(pool_table(i, rng));
  return tables;
}

std::vector<Table> drawn_tables(const std::vector<Table>& pool, int ranks, Rng& rng) {
  const double most_bytes = (4.0 * ranks - 1) * (1 << 30);
  for (;;) {
    const std::uint64_t count = ranks == 4 ? 10 + rng.below(50) : 20 + rng.below(60);
    std::vector<Table> tables;
    double bytes = 0;
    for (std::uint64_t i = 0; i < count && bytes <= most_bytes; ++i) {
      tables.push_back(pool[rng.below(pool.size())]);
      tables.back().name = "table" + std::to_string(i);
      tables.back().dim = std::int64_t{4} << rng.below(6);
      bytes += static_cast<double>(tables.back().rows) * static_cast<double>(tables.back().row_bytes());
    }
    if (bytes <= most_bytes) return tables;
  }
}

// One node of GPUs that exchange 10 GB/s each, with 4 GiB for weights.
Cluster node_of(int ranks) {
  return Cluster(read_cluster(
      parse_yaml("schema: shardsim.cluster/1\nname: node\nnodes: 1\ngpu: {model: toy, count: " + std::to_string(ranks) +
                     R"(, compute_capability: "8.0", hbm: "4 GiB", hbm_bandwidth: "600 GB/s",
  flops: {fp32: "10 TFLOP/s"}}
nvlink: {kind: switch, links_per_gpu: 1, per_link: "10 GB/s", latency: "1 us"}
)",
                 "bench")));
}

// A case, and what planners may ask about it.
struct Setting : PlannerHost {
  Setting(std::vector<Table> tables, int ranks)
      : cluster(node_of(ranks)), workload(workload_of(std::move(tables), ranks)) {}
  bool answers(Question question) const override { return question == Question::loads; }
  PlacementLoad load_of(const Placement& placement) const override {
    return placement_load(placement, workload, cluster);
  }
  const ComputeModel& compute_model() const override { return *compute; }
  bool listens() const override { return true; }
  void state(const std::string& name, double value) const override { figures[name] = value; }

  Cluster cluster;
  Workload workload;
  std::unique_ptr<MemoryModel> memory =
      make_memory_model(parse_yaml("{name: paper, mp_dynamic_copies: 0, dp_dynamic_copies: 0}", "bench"));
  std::unique_ptr<ComputeModel> compute = make_compute_model(parse_yaml("name: roofline", "bench"));
  mutable std::map<std::string, double> figures;
  PlannerContext context{*memory, 1, *this};
};

// Labels in closed form; the halves of a shard's seconds are of no interest here.
ShardSet labelled_shards(int ranks) {
  Setting setting(pool(), ranks);
  ShardSet set = draw_shards(setting.workload, kBatch, {2'000, 15, 128, std::int64_t{4} << 30, 1});
  set.provider = "closed_form";
  set.device = "toy";
  set.labels.clear();
  const auto costs = closed_form_shard_costs(setting.workload, setting.cluster, setting.context);
  int kinds = 0;
  for (const Shard& shard : set.shards) {
    std::vector<int> pieces;
    for (const ShardPiece& piece : shard) {
      Placement placement = whole_table(piece.table, setting.workload.tables[static_cast<std::size_t>(piece.table)],
                                        Strategy::column_wise, {{0}});
      placement.column_end = piece.columns;
      costs->learn(placement);
      pieces.push_back(kinds++);
    }
    costs->clear(0);
    for (const int kind : pieces) costs->add(0, kind);
    set.labels.push_back(ShardSeconds{0.4 * costs->seconds(0), 0.6 * costs->seconds(0)});
  }
  return set;
}

ExchangeSet labelled_exchanges(int ranks) {
  const Cluster cluster = node_of(ranks);
  ExchangeSet set = draw_exchanges(kBatch, {4'000, ranks, 128, 1});
  set.provider = "closed_form";
  set.device = "toy";
  set.labels.clear();
  set.topology = "node";
  for (const Exchange& exchange : set.exchanges) {
    ByteMatrix matrix{ByteMatrix::Kind::by_destination, 4 * kBatch / ranks, {}, {}, true};
    for (const double columns : exchange.columns) matrix.units.push_back(static_cast<std::int64_t>(columns));
    const double alone = expand_collective({CollectiveKind::all_to_all, all_ranks(ranks), &matrix, 0}, cluster, "auto")
                             .alone(cluster)
                             .value;
    ExchangeSeconds& label = set.labels.emplace_back(ExchangeSeconds{}).value();
    const double last = *std::ranges::max_element(exchange.starts_ms);
    for (const double start : exchange.starts_ms) label.forward.push_back(alone + (last - start) * 1e-3);
    label.backward.assign(exchange.columns.size(), alone);
  }
  return set;
}

std::string costs_file(int ranks) {
  const auto folder = std::filesystem::temp_directory_path();
  const std::filesystem::path file = folder / ("shardsim_bench_costs_" + std::to_string(ranks) + ".h5");
  TrainingOptions training;
  training.epochs = 20;
  save_cost_model(fit_cost_model({labelled_shards(ranks)}, {labelled_exchanges(ranks)}, training), file);
  return file.string();
}

double cpu_ms() {
  return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void neuroshard(benchmark::State& state, int ranks, bool learned, bool cache) {
  const std::string costs = learned ? ", costs: {file: " + costs_file(ranks) + "}" : "";
  const auto planner =
      make_planner(parse_yaml("{name: neuroshard" + costs + (cache ? "}" : ", cache: false}"), "bench.yaml"));
  const std::vector<Table> tables = pool();
  Rng rng(7);
  std::vector<double> times;
  std::map<std::string, double> sums;
  for (auto _ : state) {
    for (int task = 0; task < kTasks; ++task) {
      Setting setting(drawn_tables(tables, ranks, rng), ranks);
      const double begin = cpu_ms();
      benchmark::DoNotOptimize(planner->plan(setting.workload, setting.cluster, setting.context));
      times.push_back(cpu_ms() - begin);
      for (const auto& [name, value] : setting.figures) sums[name] += value / kTasks;
    }
  }
  state.counters["median_ms"] = median(times);
  state.counters["most_ms"] = *std::ranges::max_element(times);
  for (const auto& [name, value] : sums) state.counters[name] = value;
}

BENCHMARK_CAPTURE(neuroshard, learned_4_gpus, 4, true, true)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(neuroshard, learned_4_gpus_no_cache, 4, true, false)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(neuroshard, learned_8_gpus, 8, true, true)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(neuroshard, learned_8_gpus_no_cache, 8, true, false)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(neuroshard, closed_form_4_gpus, 4, false, true)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(neuroshard, closed_form_8_gpus, 8, false, true)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace shardsim
