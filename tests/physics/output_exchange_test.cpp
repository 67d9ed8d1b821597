#include <doctest/doctest.h>

#include "tests/physics/lab.h"
#include "tests/physics/two_tables.h"

namespace shardsim::output_exchange_test {

// `output_exchange: uniform` and `hierarchical`, how HugeCTR brings partial sums of tables cut by rows to their
// samples: bytes counted by hand. 2 nodes of 4 ranks, batch 32; a: 1000 x 64 with 3 ids a bag, on ranks 0, 1 and 4; b:
// 600 x 64 with 2, on rank 5; c: 2 rows, on ranks 2, 3 and 6, of which the last has none. A rank's bags of a table are
// 32 vectors of 256 bytes, 8,192.

using namespace shardsim::physics;

namespace {

Workload three_tables(const std::string& keys) {
  return read_workload(parse_yaml("schema: shardsim.workload/1\nname: three_tables\nbatch_per_gpu: 32\n" + keys + R"(
tables:
  - {name: a, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3}
  - {name: b, rows: 600, dim: 64, kind: pooled, pooling_factor: 2}
  - {name: c, rows: 2, dim: 64, kind: pooled, pooling_factor: 1}
)",
                                  "three_tables"),
                       "");
}

Program lowered_three(const std::string& keys) {
  const Workload workload = three_tables("input_exchange: ids\n" + keys);
  Plan plan;
  const std::vector<std::vector<int>> holders = {{0, 1, 4}, {5}, {2, 3, 6}};
  for (int table = 0; table < 3; ++table) {
    plan.placements.push_back(whole_table(table, workload.tables[static_cast<std::size_t>(table)], Strategy::row_wise,
                                          {holders[static_cast<std::size_t>(table)]}));
  }
  const Program program = lower(plan, workload, toy_cluster(), even_rows());
  check_program(program, Place{"test"});
  return program;
}

const Op& only_in_role(const Program& program, OpRole role) {
  const std::vector<int> ops = ops_in_role(program, 0, role);
  REQUIRE(ops.size() == 1);
  return program.op(ops.front());
}

constexpr std::int64_t kBags = 8'192;
const std::vector<std::int64_t> kOwned = {1, 1, 1, 1, 1, 1, 0, 0};  // shards with rows, by rank

}  // namespace

TEST_CASE("uniform: every owner sends a vector for every bag, and gets a gradient for each") {
  const Program program = lowered_three("output_exchange: uniform\n");
  const PairBytes out = moved(program, only_in_role(program, OpRole::exchange_output));
  const PairBytes back = moved(program, only_in_role(program, OpRole::exchange_gradient));
  CHECK(only_in_role(program, OpRole::exchange_output).name == "global_all_to_all");
  for (std::size_t rank = 0; rank < 8; ++rank) {
    CAPTURE(rank);
    CHECK(out.sent[rank] == 8 * kOwned[rank] * kBags);
    CHECK(out.received[rank] == 6 * kBags);
  }
  CHECK(back.sent == out.received);
  CHECK(back.received == out.sent);
  CHECK(ops_in_role(program, 0, OpRole::sum_output).empty());
  CHECK(ops_in_role(program, 0, OpRole::gather_gradient).empty());
  // Who gets them reads six vectors of a bag and writes three.
  CHECK(only_in_role(program, OpRole::order_output).hbm_bytes.values == std::vector<double>{9.0 * kBags});
  CHECK(only_in_role(program, OpRole::order_gradient).hbm_bytes.values == std::vector<double>{9.0 * kBags});
}

TEST_CASE("uniform: vectors and gradients have the types of the wire") {
  const Program program = lowered_three("output_exchange: uniform\nwire_dtype: {forward: fp16, backward: bf16}\n");
  CHECK(moved(program, only_in_role(program, OpRole::exchange_output)).total == 6 * 8 * kBags / 2);
  CHECK(moved(program, only_in_role(program, OpRole::exchange_gradient)).total == 6 * 8 * kBags / 2);
  CHECK(only_in_role(program, OpRole::exchange_output).dtype == "fp16");
  CHECK(only_in_role(program, OpRole::exchange_gradient).dtype == "bf16");
}

TEST_CASE("hierarchical: added up in the node, then a vector for every bag from each node that has rows") {
  const Program program = lowered_three("output_exchange: hierarchical\n");
  const Op& summed = only_in_role(program, OpRole::sum_output);
  CHECK(summed.name == "intra_node_reduce_scatter");
  CHECK(summed.bytes == 8 * kBags);  // no rank has more than one shard with rows: of all 8 ranks' bags
  CHECK(summed.bytes_by_set.empty());
  const Op& crossing = only_in_role(program, OpRole::exchange_output);
  CHECK(crossing.name == "cross_node_all_to_all");
  const ByteMatrix matrix = resolve_matrix(program, crossing.matrix);
  CHECK(matrix.bytes_between(0, 1, 2) == 2 * kBags);  // a and c
  CHECK(matrix.bytes_between(1, 0, 2) == 2 * kBags);  // a and b
  CHECK(only_in_role(program, OpRole::gather_gradient).bytes == 8 * kBags);
  // a from two nodes, b and c from one: four vectors read, three written.
  CHECK(only_in_role(program, OpRole::order_output).hbm_bytes.values == std::vector<double>{7.0 * kBags});
}

TEST_CASE("on one node the hierarchical exchange is the sum in the node") {
  const Workload workload = three_tables("output_exchange: hierarchical\n");
  const Program program = lowered("{name: row_wise}", workload, Cluster(cluster_spec("toy_2x4.yaml", 1)), even_rows());
  CHECK(only_in_role(program, OpRole::sum_output).group == "node");
  CHECK(ops_in_role(program, 0, OpRole::exchange_output).empty());
}

TEST_CASE("reduce_scatter is the default and reduces over the world") {
  const Program program = lowered_three("");
  CHECK(program == lowered_three("output_exchange: reduce_scatter\n"));
  CHECK(only_in_role(program, OpRole::sum_output).group == "world");
  CHECK(ops_in_role(program, 0, OpRole::order_output).empty());
}

TEST_CASE("each of them runs, with an exchange of ids in all its steps and with a pipeline, too") {
  const Cluster cluster = toy_cluster();
  for (const std::string exchange : {"uniform", "hierarchical"}) {
    for (const std::string input : {"full", "ids"}) {
      for (const std::string pipeline : {"none", "sparse_dist", "prefetch_sparse_dist"}) {
        CAPTURE(exchange);
        CAPTURE(input);
        CAPTURE(pipeline);
        const Workload workload = three_tables("output_exchange: " + exchange + "\ninput_exchange: " + input +
                                               "\npipeline: " + pipeline + "\n");
        const Program program = lowered("{name: hugectr, bandwidth_ratio: 0}", workload, cluster);
        CHECK_NOTHROW(simulated(program, cluster));
      }
    }
  }
}

}  // namespace shardsim::output_exchange_test
