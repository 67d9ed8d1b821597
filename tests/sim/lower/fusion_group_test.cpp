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

namespace {

// Two collections of two ranks' tables, of which the second has weights.
Program two_collections(const std::string& pipeline, const std::string& exchanges) {
  const Workload workload = read_workload(
      parse_yaml("schema: shardsim.workload/1\nname: w\nbatch_per_gpu: 32\ninput_exchange: full\npipeline: " +
                     pipeline + "\nmodules: {exchanges: " + exchanges +
                     "}\ndense: {layers: [{name: over, in: 32, out: 8}]}\n"
                     "tables:\n- {name: a, rows: 1000, dim: 16, kind: pooled, pooling_factor: 3}\n"
                     "- {name: b, rows: 1000, dim: 16, kind: pooled, module: weighted_ebc, features: [{name: b, "
                     "pooling_factor: 3, weighted: true}]}\n",
                 "test"),
      "");
  Plan plan;
  for (int of : {0, 1})
    plan.placements.push_back(
        whole_table(of, workload.tables[static_cast<std::size_t>(of)], Strategy::table_wise, {{of}}));
  return lower(plan, workload, Cluster(cluster_spec("toy_2x4.yaml")), {});
}

std::vector<int> in_role(const Program& program, OpRole role) {
  std::vector<int> ids;
  for (const Op& op : program.ops)
    if (op.role == role) ids.push_back(op.id);
  return ids;
}

}  // namespace

TEST_CASE("collections apart have exchanges, lookups and updates of their own") {
  for (const char* const pipeline : {"none", "base", "sparse_dist", "prefetch_sparse_dist", "semi_sync"}) {
    CAPTURE(pipeline);
    const Program together = two_collections(pipeline, "together"), apart = two_collections(pipeline, "each");
    REQUIRE(together.fusions.size() == 1);
    REQUIRE(apart.fusions.size() == 2);
    CHECK(apart.fusions[0].name == together.fusions[0].name);
    CHECK(apart.fusions[1].name == "pooled_tw_weighted_ebc");
    for (const OpRole role : {OpRole::exchange_lengths, OpRole::exchange_ids, OpRole::lookup, OpRole::exchange_output,
                              OpRole::exchange_gradient, OpRole::update})
      CHECK(in_role(apart, role).size() == 2);
    CHECK(in_role(apart, OpRole::exchange_weights).size() == 1);  // of the ids that have some
    CHECK(in_role(apart, OpRole::copy_inputs).size() == 1);
  }
}

// ShardedModule.forward waits for the module's ids, then looks them up.
TEST_CASE("without a pipeline a collection begins when the one before has issued its vectors") {
  for (const char* const pipeline : {"none", "base"}) {
    CAPTURE(pipeline);
    const Program program = two_collections(pipeline, "each");
    for (const OpRole role : {OpRole::permute_inputs, OpRole::exchange_splits, OpRole::wait_for_splits, OpRole::recat})
      REQUIRE(in_role(program, role).size() == 2);
    const int vectors = in_role(program, OpRole::exchange_output).front();
    const int permute = in_role(program, OpRole::permute_inputs).back();
    CHECK(in_role(program, OpRole::lookup).front() < vectors);
    CHECK(vectors < permute);
    CHECK(permute < in_role(program, OpRole::lookup).back());
    // The splits of the second wait for the vectors of the first, which go before them on the same stream.
    const Op& splits = program.op(in_role(program, OpRole::exchange_splits).back());
    CHECK(splits.stream == program.op(vectors).stream);
    CHECK(in_role(program, OpRole::wait_for_splits).back() < in_role(program, OpRole::recat).back());
  }
}

TEST_CASE("a pipeline brings the ids of all collections ahead, with one exchange of splits") {
  const Program program = two_collections("sparse_dist", "each");
  CHECK(in_role(program, OpRole::exchange_splits).size() == 1);
  CHECK(in_role(program, OpRole::recat).size() == 1);
  for (const int id : in_role(program, OpRole::exchange_ids)) CHECK(program.op(id).batches_ahead == 1);
}

}  // namespace shardsim::fusion_group_test
