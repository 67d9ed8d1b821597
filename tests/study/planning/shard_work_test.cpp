#include "study/planning/shard_work.h"

#include <doctest/doctest.h>

#include "base/tree/yaml.h"
#include "sim/engine/op_work.h"
#include "sim/lower/lower.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/scenario.h"
#include "tests/base/error_text.h"
#include "tests/models/test_clusters.h"
#include "tests/models/workload_text.h"

namespace shardsim::shard_work_test {
namespace {

Workload three_tables() {
  return parsed(
      "schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 512\noptimizer: {name: adagrad}\ninput_exchange: "
      "none\ntables:\n"
      "- {name: a, rows: 100000, dim: 32, kind: pooled, pooling_factor: 20, access: {family: zipf, s: 1.05}}\n"
      "- {name: b, rows: 5000, dim: 16, kind: pooled, pooling_factor: 3}\n"
      "- {name: c, rows: 900000, dim: 64, kind: pooled, pooling_factor: 7, access: {family: zipf, s: 0.8}}\n");
}

// The time of the operations of one class on rank 0 in the iteration of a plan.
double seconds_in_program(const Program& program, OpClass wanted, const Cluster& cluster) {
  const auto roofline = make_compute_model(named_map("roofline"));
  double sum = 0;
  for (const Op& op : program.ops)
    if (op.op_class == wanted) sum += roofline->seconds(work_of(op, 0, cluster.spec()), cluster.spec().gpu).value;
  return sum;
}

}  // namespace

TEST_CASE(
    "closed-form label of a shard: the fused lookup and update of the iteration that has these tables on rank 0") {
  const Cluster cluster = test::cluster_from(test::toy_2x4());
  const Workload workload = three_tables();
  Plan plan;
  for (int table = 0; table < 3; ++table)
    plan.placements.push_back(
        whole_table(table, workload.tables[static_cast<std::size_t>(table)], Strategy::table_wise, {{0}}));
  const Program program = lower(plan, workload, cluster, {});
  ShardWorks works(workload, 512 * 8, cluster);
  const auto roofline = make_compute_model(named_map("roofline"));
  const ShardSeconds label = works.of({{0, 32}, {1, 16}, {2, 64}}).seconds(*roofline, cluster.spec().gpu);
  CHECK(label.forward == doctest::Approx(seconds_in_program(program, OpClass::lookup, cluster)).epsilon(1e-9));
  CHECK(label.backward == doctest::Approx(seconds_in_program(program, OpClass::update, cluster)).epsilon(1e-9));
  const ShardSeconds alone = works.of({{2, 64}}).seconds(*roofline, cluster.spec().gpu);
  CHECK(alone.forward < label.forward);
  CHECK(alone.forward + works.of({{0, 32}, {1, 16}}).seconds(*roofline, cluster.spec().gpu).forward > label.forward);
}

TEST_CASE("closed-form label of a shard: a batch that the ranks cannot share") {
  const Cluster cluster = test::cluster_from(test::toy_2x4());
  CHECK(has(error_of([&] { ShardWorks(three_tables(), 1001, cluster); }), "8 ranks cannot share 1001 samples evenly"));
}

TEST_CASE("kernels by table: a call and what each table adds to it are together nearly the call of all") {
  // Planners add placements up; the lanes of the widest table and the shared cache are what they leave out.
  ClusterSpec spec = read_cluster(load_named("dgx_h100", "clusters", "", {}));
  spec.nodes = spec.gpu.count = 1;
  const Cluster cluster(spec);
  Workload workload = three_tables();
  for (Table& table : workload.tables) table.dim = 64;
  workload.optimizer = "rowwise_adagrad";
  LoweringOptions options;
  options.row_tables = true;
  const auto fbgemm = make_compute_model(parse_yaml("{name: gpu_kernels, kernels: fbgemm}", "t"));
  std::map<ComputeWork::Kind, double> sums;
  for (int table = 0; table < 3; ++table) {
    const Placement whole =
        whole_table(table, workload.tables[static_cast<std::size_t>(table)], Strategy::table_wise, {{0}});
    for (const LoadStep& step : placement_load(whole, workload, cluster, options).steps) {
      const auto parts = seconds_by_tables(step, *fbgemm, cluster.spec().gpu);
      if (!parts) continue;
      CHECK(parts->call > 0);
      CHECK(parts->added > 0);
      sums[step.work.kind] += parts->added + (table == 0 ? parts->call : 0);
    }
  }
  ShardWorks works(workload, 512, cluster, true);
  const ShardSeconds all = works.of({{0, 64}, {1, 64}, {2, 64}}).seconds(*fbgemm, cluster.spec().gpu);
  CHECK(sums.at(ComputeWork::Kind::lookup) == doctest::Approx(all.forward).epsilon(0.1));
  CHECK(sums.at(ComputeWork::Kind::update) == doctest::Approx(all.backward).epsilon(0.1));
}

TEST_CASE("kernels by table: nothing is said of steps without tables") {
  const Cluster cluster = test::cluster_from(test::toy_2x4());
  const Workload workload = three_tables();
  const auto fbgemm = make_compute_model(parse_yaml("{name: gpu_kernels, kernels: fbgemm}", "t"));
  const Placement whole = whole_table(0, workload.tables[0], Strategy::table_wise, {{0}});
  for (const LoadStep& step : placement_load(whole, workload, cluster).steps)
    CHECK_FALSE(seconds_by_tables(step, *fbgemm, cluster.spec().gpu));
}

TEST_CASE("closed-form exchange: worked by hand, all wait for the last start") {
  const Cluster cluster = test::cluster_from(test::toy_2x4());
  // 100 GB/s and 1 us inside a node of 4. Rank 3 holds 1,000 of 1,300 columns: forward it sends 3 x 1,024 x 1,000 x 4 B
  // to the others, which is 122.88 us on its port; backward it receives them.
  const ExchangeSeconds seconds = closed_form_exchange({{100, 100, 100, 1000}, {0, 2, 1, 0}}, 4096, cluster);
  const double transfer = 122.88e-6 + 1e-6;
  REQUIRE(seconds.forward.size() == 4);
  CHECK(seconds.forward[0] == doctest::Approx(2e-3 + transfer).epsilon(1e-6));
  CHECK(seconds.forward[1] == doctest::Approx(transfer).epsilon(1e-6));
  CHECK(seconds.forward[2] == doctest::Approx(1e-3 + transfer).epsilon(1e-6));
  CHECK(seconds.backward == std::vector<double>(4, seconds.forward[1]));
  CHECK(has(error_of([&] {
              closed_form_exchange({std::vector<double>(16, 1), std::vector<double>(16, 0)}, 4096, cluster);
            }),
            "the cluster has 8 GPUs, but the exchanges are between 16"));
  // Over two nodes the network cards carry half of it: longer than in a node.
  const ExchangeSeconds wide =
      closed_form_exchange({std::vector<double>(8, 100), std::vector<double>(8, 0)}, 4096, cluster);
  CHECK(wide.backward.front() >
        closed_form_exchange({std::vector<double>(4, 100), std::vector<double>(4, 0)}, 4096, cluster).backward.front());
}

}  // namespace shardsim::shard_work_test
