#include <doctest/doctest.h>

#include "tests/plan/test_setting.h"

namespace shardsim::memory_models_torchrec_test {

TEST_CASE("TorchRec's memory model gives the bytes of its worked example") {
  Table table = sequence_table("guide", 80'000'000, 128);
  table.dtype = Dtype::fp16;
  table.features = {{"f0", 6066, 1, false}};
  table.average_length = 6066;
  const Workload workload = workload_of({table}, 2560);
  const Cluster cluster = test_cluster(12, 8);
  const Plan plan = plan_by("{name: row_wise}", workload, cluster);
  const auto model = make_memory_model(options("{name: torchrec}"));
  const auto bytes = memory_per_rank(plan, workload, cluster, *model);
  CHECK(bytes[0] == 4'314'645'612);
  CHECK(bytes[94] == 4'314'645'612);
  CHECK(bytes[95] == 4'314'629'100);
}

// By TorchRec's storage rules: 0.4 of 25,600,000 B of rows, as much / 64 of row-wise Adagrad's state, and 16 B x 0.4 of
// the cache's own state per row.
TEST_CASE("memory models see the load factor of the plan's cache") {
  const Workload workload = workload_of({sequence_table("t", 100'000, 64)}, 64);
  const Cluster cluster = test_cluster(1, 2);
  const auto on_rank_0 = [&](const char* model, double factor) {
    Plan plan = plan_by("{name: table_wise}", workload, cluster);
    plan.placements[0].compute_kernel = "fused_uvm_caching";
    plan.placements[0].cache_load_factor = factor;
    return memory_per_rank(plan, workload, cluster, *make_memory_model(options(model)))[0];
  };
  CHECK(on_rank_0("{name: torchrec}", 0.5) - on_rank_0("{name: torchrec}", 0.1) == 10'240'000 + 160'000 + 640'000);
  CHECK(on_rank_0("{name: paper}", 0.5) - on_rank_0("{name: paper}", 0.1) == 10'240'000);
}

TEST_CASE("every rank gets a number for every planner's plan, tiers and replicas too") {
  Table table = sequence_table("c", 200'000, 256);
  const Workload workload = workload_of({table}, 64);
  const Cluster cluster = test_cluster(2, 4);
  const auto model = make_memory_model(options("{name: torchrec}"));
  for (const char* name : {"column_wise", "data_parallel", "flex", "row_wise", "table_wise", "torchrec"}) {
    CAPTURE(std::string(name));
    const Plan plan = plan_by(fmt::format("{{name: {}}}", name), workload, cluster);
    const auto bytes = memory_per_rank(plan, workload, cluster, *model);
    std::int64_t sum = 0;
    for (const std::int64_t each : bytes) sum += each;
    CHECK(bytes.size() == 8);
    CHECK(sum >= 200'000LL * 256 * 4);
  }
}

}  // namespace shardsim::memory_models_torchrec_test
