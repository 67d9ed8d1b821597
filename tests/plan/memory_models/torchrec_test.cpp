#include <doctest/doctest.h>

#include "tests/plan/test_setting.h"

namespace shardsim {

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

}  // namespace shardsim
