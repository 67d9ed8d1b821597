#include <doctest/doctest.h>

#include "base/tree/json.h"
#include "plan/plan_file.h"
#include "tests/plan/test_setting.h"
#include "tests/without_columns.h"

namespace shardsim::standalone_plan_test {

namespace {

// One table of 10 rows and 8 columns in two row blocks, on the devices given, and a data_parallel one.
std::string two_tables(const std::string& first, const std::string& second) {
  return R"({"plan": {"ebc": {
"a": {"sharding_type": "row_wise", "ranks": [0, 1], "shards": [
{"shard_offsets": [0, 0], "shard_sizes": [5, 8], "placement": "rank:0/)" +
         first + R"("},
{"shard_offsets": [5, 0], "shard_sizes": [5, 8], "placement": "rank:1/)" +
         second + R"("}]},
"b": {"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [0, 1]}}}})";
}

StandalonePlan read(const std::string& text) {
  return standalone_plan(parse_json(text, "plan.json"));
}

}  // namespace

TEST_CASE("a plan file does not say how large its data_parallel tables are") {
  const StandalonePlan plan = read(two_tables("cuda:0", "cuda:1"));
  CHECK(plan.tables == 2);
  CHECK(plan.workload.tables[0].rows == 10);
  CHECK(plan.unsized == std::vector<int>{1});
}

TEST_CASE("tables of one name in several modules have the names that a workload gives them") {
  const std::string entry = R"({"sharding_type": "table_wise", "ranks": [1], "shards": [
{"shard_offsets": [0, 0], "shard_sizes": [5, 8], "placement": "rank:1/cuda:1"}]})";
  const StandalonePlan plan =
      read(R"({"plan": {"m.one": {"t": )" + entry + R"(}, "m.two": {"t": )" + entry + R"(, "u": )" + entry + "}}}");
  CHECK(plan.workload.tables[0].name == "m.one.t");
  CHECK(plan.workload.tables[1].name == "m.two.t");
  CHECK(plan.workload.tables[2].name == "u");
}

TEST_CASE("the world of a plan is what it names, or what is known") {
  const Tree tree = parse_json(two_tables("cuda:0", "cuda:1"), "plan.json");
  CHECK(standalone_plan(tree).ranks == 2);
  CHECK(standalone_plan(tree, 2).ranks == 2);
  CHECK(has(error_of([&] { standalone_plan(tree, 4); }), "on 2 of 4 ranks"));
  CHECK(has(error_of([&] { standalone_plan(tree, 1); }), "outside the world"));
}

TEST_CASE("tables lie on GPUs, or all on CPUs") {
  CHECK_FALSE(read(two_tables("cuda:0", "cuda:1")).cpus);
  CHECK(read(two_tables("cpu", "cpu")).cpus);
  for (const auto& devices : {std::pair{"cpu", "cuda:1"}, {"cuda:0", "cpu"}}) {
    const std::string text = error_of([&] { read(two_tables(devices.first, devices.second)); });
    CHECK(has(text, devices.first == std::string("cpu") ? "plan.json:3" : "plan.json:4"));
    CHECK(has(text, "fused_uvm"));
  }
}

TEST_CASE("placements on CPUs are refused on a cluster of GPUs") {
  const Workload workload = workload_of({sequence_table("a", 10, 8), sequence_table("b", 10, 8)}, 32);
  const auto fault = [&](const std::string& text) {
    return testing::without_columns(
        error_of([&] { checked_plan(parse_json(text, "plan.json"), workload, test_cluster(1, 2)); }));
  };
  CHECK(fault(two_tables("cuda:0", "cuda:1")) == "");
  CHECK(has(fault(two_tables("cpu", "cpu")), "plan.json:3: table 'a': placement \"rank:0/cpu\""));
  CHECK(has(fault(two_tables("cuda:1", "cuda:1")), "write \"rank:0/cuda:0\""));
}

TEST_CASE("what is wrong with a table as a whole has the line of its entry") {
  const Workload workload = workload_of({sequence_table("a", 10, 8), sequence_table("b", 10, 8)}, 32);
  const std::string text = error_of(
      [&] { checked_plan(parse_json(two_tables("cuda:0", "cuda:1"), "plan.json"), workload, test_cluster(1, 3)); });
  CHECK(has(testing::without_columns(text),
            "plan.json:5: table 'b' has replicated rows (data_parallel) on 2 of 3 ranks"));
}

}  // namespace shardsim::standalone_plan_test
