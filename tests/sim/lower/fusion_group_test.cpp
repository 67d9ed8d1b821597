#include <doctest/doctest.h>

#include "base/tree/yaml.h"
#include "sim/lower/lower.h"
#include "tests/physics/lab.h"

namespace shardsim::fusion_group_test {

using namespace shardsim::physics;

namespace {

// Two tables of 3 ids a sample each, which look up the features of these names.
Program lowered(const std::string& first, const std::string& second) {
  const auto table = [](const std::string& name, const std::string& feature) {
    return "- {name: " + name + ", rows: 1000, dim: 16, kind: pooled, features: [{name: " + feature +
           ", pooling_factor: 3}]}\n";
  };
  const Workload workload = read_workload(
      parse_yaml("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 32\ninput_exchange: full\ntables:\n" +
                     table("deep", first) + table("wide", second),
                 "test"),
      "");
  Plan plan;
  for (int of : {0, 1})
    plan.placements.push_back(
        whole_table(of, workload.tables[static_cast<std::size_t>(of)], Strategy::row_wise, {all_ranks(8)}));
  return lower(plan, workload, Cluster(cluster_spec("toy_2x4.yaml")), {});
}

double copied(const Program& program) {
  for (const Op& op : program.ops)
    if (op.role == OpRole::copy_inputs) return op.host_bytes.at(0);
  return 0;
}

}  // namespace

// 32 samples of 3 ids of 8 B and a length of 4 B.
TEST_CASE("a feature of two tables is copied to the GPU once, and exchanged for each of them") {
  const Program own = lowered("a", "b"), shared = lowered("a", "a");
  CHECK(copied(own) == 2 * 32 * (3 * 8 + 4));
  CHECK(copied(shared) == 32 * (3 * 8 + 4));
  CHECK(own.matrices == shared.matrices);
}

}  // namespace shardsim::fusion_group_test
