#include <doctest/doctest.h>

#include "base/tree/json.h"
#include "plan/check.h"
#include "plan/plan_file.h"
#include "tests/plan/test_setting.h"

namespace shardsim::torchrec_entry_test {
namespace {

// One table of 1,000 rows and 64 columns on two nodes of four ranks.
std::string fault(const std::string& entry) {
  const Workload workload = workload_of({sequence_table("t", 1000, 64)}, 32);
  const Cluster cluster = test_cluster(2, 4);
  const std::string json = R"({"plan": {"ec": {"t": )" + entry + "}}}";
  return error_of([&] {
    check_plan(plan_from_tree(parse_json(json, "plan.json"), workload, cluster), workload, cluster, {"plan.json"});
  });
}

std::string shard(int row, int rows, int column, int columns, int rank) {
  return fmt::format(R"({{"shard_offsets": [{}, {}], "shard_sizes": [{}, {}], "placement": "rank:{}/cuda:{}"}})", row,
                     column, rows, columns, rank, rank % 4);
}

std::string entry(const std::string& type, const std::vector<int>& ranks, const std::vector<std::string>& shards,
                  const std::string& kernel = "fused") {
  return fmt::format(R"({{"sharding_type": "{}", "compute_kernel": "{}", "ranks": [{}], "shards": [{}]}})", type,
                     kernel, fmt::join(ranks, ", "), fmt::join(shards, ", "));
}

std::vector<std::string> four_blocks(int rank, int column = 0, int columns = 64) {
  std::vector<std::string> shards;
  for (int i = 0; i < 4; ++i) shards.push_back(shard(250 * i, 250, column, columns, rank + i));
  return shards;
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("TorchRec's types on one node are read") {
  CHECK(fault(entry("table_row_wise", {4, 5, 6, 7}, four_blocks(4))) == "");
  CHECK(fault(entry("table_column_wise", {4, 6}, {shard(0, 1000, 0, 32, 4), shard(0, 1000, 32, 32, 6)})) == "");
  CHECK(fault(entry("grid_shard", {4, 5, 6, 7, 0, 1, 2, 3}, joined(four_blocks(4, 0, 32), four_blocks(0, 32, 32)))) ==
        "");
}

TEST_CASE("shards on the wrong node are refused") {
  CHECK(has(fault(entry("table_row_wise", {2, 3, 4, 5}, four_blocks(2))), "rank 4 is on node 1"));
  // Not all ranks of the node need to hold rows.
  CHECK(fault(entry("table_row_wise", {4, 5}, {shard(0, 500, 0, 64, 4), shard(500, 500, 0, 64, 5)})) == "");
  CHECK(has(fault(entry("table_column_wise", {3, 4}, {shard(0, 1000, 0, 32, 3), shard(0, 1000, 32, 32, 4)})),
            "rank 4 is on node 1"));
}

TEST_CASE("shards that overlap or leave rows or columns out are refused") {
  CHECK(has(fault(entry("grid_shard", {4, 5, 6, 7, 0, 1, 2, 3}, joined(four_blocks(4, 0, 40), four_blocks(0, 32, 32)))),
            "held twice"));
  CHECK(has(fault(entry("grid_shard", {4, 5, 6, 7}, four_blocks(4, 0, 32))), "not held"));
  CHECK(has(fault(entry("table_row_wise", {4, 5, 6, 7},
                        {shard(0, 250, 0, 64, 4), shard(250, 250, 0, 64, 5), shard(500, 250, 0, 64, 6),
                         shard(750, 200, 0, 64, 7)})),
            "does not continue"));
  CHECK(has(fault(entry("grid_shard", {4, 5, 6, 7}, four_blocks(4, 40, 32))), "Write columns inside 0 to 64"));
}

TEST_CASE("unknown types and kernels name the known ones") {
  CHECK(has(fault(entry("table_rowwise", {4, 5, 6, 7}, four_blocks(4))), "Did you mean 'table_row_wise'?"));
  CHECK(has(fault(entry("table_row_wise", {4, 5, 6, 7}, four_blocks(4), "fusd")), "Did you mean 'fused'?"));
}

}  // namespace shardsim::torchrec_entry_test
