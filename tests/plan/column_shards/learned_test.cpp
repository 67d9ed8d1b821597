#include <doctest/doctest.h>

#include <map>

#include "models/compute/gpus/gpu_constants.h"
#include "models/learned/cost_model.h"
#include "models/learned/exchange_inputs.h"
#include "plan/check.h"
#include "plan/column_shards/cost_source.h"
#include "tests/models/learned/small_pool.h"
#include "tests/plan/column_shards/hand_costs.h"
#include "tests/plan/hand_context.h"
#include "tests/temporary_folder.h"

namespace shardsim::learned_test {
namespace {

// Fitted to next to nothing: what matters is that its answers are taken.
const CostModel& rough_model() {
  static const CostModel model = [] {
    TrainingOptions options;
    options.epochs = 3;
    return fit_cost_model({labelled_shards(300)}, {labelled_exchanges(300, 4)}, options);
  }();
  return model;
}

struct Asked {
  explicit Asked(int nodes, int gpus, std::int64_t batch = 1024) : cluster(test_cluster(nodes, gpus)) {
    workload.batch_per_gpu = batch / cluster.world_size();
    add_hand_costs(context, workload, cluster);
    context.figure = [this](const std::string& name, double value) { figures[name] = value; };
    context.trained_on = [this](const std::string& provider) { trained_on = provider; };
    context.note = [this](const std::string& text) { notes += text + "\n"; };
    save_cost_model(rough_model(), folder / "costs.h5");
  }

  Plan plan(const std::string& keys = "") {
    const std::string file = (folder / "costs.h5").string();
    return make_planner(options("{name: neuroshard, costs: {file: " + file + keys + "}}"))
        ->plan(workload, cluster, context);
  }

  TemporaryFolder folder{"learned_plans"};
  Cluster cluster;
  Workload workload = small_pool();
  std::unique_ptr<MemoryModel> memory = weights_memory();
  std::map<std::string, double> figures;
  std::string trained_on, notes;
  HandContext context{*memory, 1};
};

Placement piece_of(const Workload& workload, int table, std::int64_t columns) {
  Placement piece = whole_table(table, workload.tables[static_cast<std::size_t>(table)], Strategy::column_wise, {{0}});
  piece.column_end = columns;
  return piece;
}

}  // namespace

TEST_CASE("learned costs of a shard are the nets' of the sum of its tables; without tables the nets' too, not 0") {
  const LearnedCosts nets(rough_model());
  Asked asked(1, 4);
  const auto costs = learned_shard_costs(nets, asked.workload, 4);
  CostVector sum;
  for (const auto& [table, columns] : {std::pair{3, 64}, {7, 16}, {7, 16}}) {
    costs->learn(piece_of(asked.workload, table, columns));
    const TableStatistics statistics = table_statistics(asked.workload.tables[static_cast<std::size_t>(table)], 1024);
    LearnedCosts::add(sum, nets.vector_of({statistics, columns}));
  }
  costs->clear(2);
  for (const int kind : {0, 1, 2}) costs->add(2, kind);
  CHECK(costs->seconds(2) == nets.seconds_of(sum).sum());
  costs->clear(2);
  CHECK(costs->seconds(2) == nets.seconds_of({}).sum());
  CHECK(costs->seconds(2) != 0);
}

// Section 6 of the rules: offset of a rank = its C + B less the least; cost = the largest C + B + F.
TEST_CASE("learned cost of a plan: gradients back, shards, and vectors that start when their rank is ready") {
  const LearnedCosts nets(rough_model());
  const auto plans = learned_plan_costs(nets, 4);
  for (const double width : {64.0, 16.0}) {
    PieceKind kind;
    kind.width = width;
    plans->learn(kind, {});
  }
  const std::vector<int> kinds{0, 0, 1, 0};
  const std::vector<std::uint16_t> ranks{0, 1, 1, 3};
  const std::vector<double> shards{1e-3, 4e-3, 0.5e-3, 2e-3}, dims{64, 80, 0, 64}, limits{1};
  std::vector<double> backward(4), starts(4), forward(4), seconds(1);
  nets.backward_exchanges(4, dims, backward);
  for (std::size_t r = 0; r < 4; ++r) starts[r] = shards[r] + backward[r];
  const double first = *std::ranges::min_element(starts);
  double longest = 0;
  for (double& start : starts) start -= first;
  nets.forward_exchanges(4, dims, starts, forward);
  for (std::size_t r = 0; r < 4; ++r) longest = std::max(longest, shards[r] + backward[r] + forward[r]);
  plans->seconds(std::vector<ShardedPieces>{{kinds, ranks, shards}}, limits, seconds);
  CHECK(seconds[0] == longest);
}

TEST_CASE("neuroshard plans by a model file, on clusters without nets of their exchanges too") {
  for (const auto& [nodes, gpus] : {std::pair{1, 4}, {2, 4}, {1, 2}}) {
    Asked asked(nodes, gpus);
    const Plan plan = asked.plan();
    CHECK_NOTHROW(check_plan(plan, asked.workload, asked.cluster, {}));
    CHECK(asked.figures.at("cost_ms") > 0);
    CHECK(asked.trained_on == "made_up");
    const bool has_nets = nodes == 1 && gpus == 4;
    const std::string text = fmt::format("for 4 GPUs, and this case has {}: its exchanges", nodes * gpus);
    CHECK(has(asked.notes, text) == !has_nets);
  }
}

TEST_CASE("nets of exchanges over several nodes serve only the cluster that they were labelled for") {
  Asked asked(2, 4);
  asked.plan();
  const double closed_form = asked.figures.at("cost_ms");  // the file has nets of 4 GPUs alone
  const auto cost_with = [&](const std::string& topology) {
    ExchangeSet exchanges = labelled_exchanges(300, 8);
    exchanges.topology = topology;
    TrainingOptions options;
    options.epochs = 3;
    save_cost_model(fit_cost_model({labelled_shards(300)}, {exchanges}, options), asked.folder / "costs.h5");
    asked.plan();
    return asked.figures.at("cost_ms");
  };
  CHECK(cost_with(exchange_topology(asked.cluster)) != doctest::Approx(closed_form));
  CHECK(cost_with("another of 2 nodes") == doctest::Approx(closed_form));
  CHECK(has(asked.notes, "for 8 GPUs, and this case has 8 on another network"));
}

TEST_CASE("costs: auto takes the shipped nets on the GPU that they were learned on, and says what they do not cover") {
  struct Shipped : Asked {
    explicit Shipped(const char* gpu) : Asked(1, 4, 16'384) {
      ClusterSpec spec = cluster.spec();
      GpuSpec made = spec_of(*shipped_gpu_table().find(gpu));  // whose laws are near the nets
      made.count = spec.gpu.count;
      made.hbm = spec.gpu.hbm;
      made.model = gpu;
      spec.gpu = made;
      cluster = Cluster(spec);
      workload.optimizer = "rowwise_adagrad";
      context.family = "fbgemm";
      context.note = [this](const std::string& text) { note = text; };
    }
    std::string asked(const std::string& keys = "") {
      trained_on = note = "";
      make_planner(options("{name: neuroshard" + keys + "}"))->plan(workload, cluster, context);
      return trained_on;
    }
    std::string note;
  };
  Shipped covered("H100-SXM5-80GB");
  CHECK(covered.asked() == "fbgemm");
  CHECK(covered.note.empty());
  CHECK(covered.asked(", costs: auto") == "fbgemm");
  CHECK(covered.asked(", costs: closed_form").empty());
  Shipped other("A100-SXM4-80GB");
  CHECK(other.asked().empty());
  CHECK(other.note.empty());
  covered.context.family = "hugectr";
  CHECK(covered.asked().empty());
  covered.context.family = "fbgemm";
  covered.workload.optimizer = "sgd";
  CHECK(covered.asked().empty());
  CHECK(has(covered.note, "updates by sgd"));
  covered.workload.optimizer = "rowwise_adagrad";
  covered.workload.batch_per_gpu = 1 << 20;
  CHECK(covered.asked().empty());
  CHECK(has(covered.note, "lookups of 4194304 samples"));
  covered.workload.batch_per_gpu = 4096;
  covered.workload.tables[3].dim = 1024;
  CHECK(covered.asked().empty());
  CHECK(has(covered.note, "'t3' has 1024 columns"));
}

TEST_CASE("costs of another setting are refused, and say which") {
  CHECK(has(error_of([] { Asked(1, 4, 2048).plan(); }), "1024 samples"));
  CHECK(has(error_of([] { Asked(1, 4).plan(", provider: cpu"); }), "made_up"));
  CHECK(has(error_of([] { Asked(1, 4).plan(", device: H100"); }), "toy"));
  Asked adam(1, 4);
  adam.workload.optimizer = "adam";
  CHECK(has(error_of([&] { adam.plan(); }), "adam"));
  Asked half(1, 4);
  half.workload.tables[4].dtype = Dtype::fp16;
  CHECK(has(error_of([&] { half.plan(); }), "'t4'"));
  Asked sequence(1, 4);
  sequence.workload.tables[5].kind = TableKind::sequence;
  CHECK(has(error_of([&] { sequence.plan(); }), "'t5'"));
}

}  // namespace shardsim::learned_test
