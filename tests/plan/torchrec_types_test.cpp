#include "plan/torchrec_types.h"

#include <doctest/doctest.h>

#include "tests/plan/test_setting.h"

namespace shardsim::torchrec_types_test {
namespace {

Workload two_sequences() {
  Table first = sequence_table("first", 1'000'000), second = sequence_table("second", 100'000);
  first.average_length = second.average_length = 1;
  return workload_of({first, second}, 16);
}

std::string beyond(const std::string& planner, const Workload& workload) {
  return beyond_torchrec(plan_by(planner, workload, test_cluster(2, 4)), workload, {8, 4});
}

}  // namespace

TEST_CASE("what TorchRec does not have of a plan is told with its tables") {
  CHECK(beyond("{name: row_wise}", two_sequences()).empty());
  CHECK(beyond("{name: table_row_wise}", two_sequences()) == "sequences that are table_row_wise (first, second)");
  const std::string tiered = "{name: flexshard_2tier, memory_budget: \"300 MB\", cap_at_comm_neutral: false}";
  CHECK(beyond(tiered, two_sequences()).starts_with("tiers of rows ("));
}

TEST_CASE("rows of a table lie on all ranks of the world, or of a node, with TorchRec") {
  Workload workload = two_sequences();
  for (Table& table : workload.tables) table.kind = TableKind::pooled;
  const auto told = [&](const std::string& planner, const RowRanks& ranks) {
    return beyond_torchrec(plan_by(planner, workload, test_cluster(1, 4)), workload, ranks);
  };
  CHECK(told("{name: row_wise}", {4, 4}).empty());
  CHECK(told("{name: row_wise}", {8, 4}) == "tables that are row_wise on 4 of 8 ranks (first, second)");
  CHECK(told("{name: table_row_wise}", {8, 4}).empty());
  CHECK(told("{name: table_row_wise}", {8, 8}) ==
        "tables that are table_row_wise on 4 of 8 ranks of a node (first, second)");
  CHECK(told("{name: table_wise}", {8, 8}).empty());
  CHECK(told("{name: row_wise}", {}).empty());  // how many ranks there are, nobody knows
}

TEST_CASE("of sharding groups each has all rows on its own ranks") {
  Workload workload = two_sequences();
  const ClusterSpec cluster = test_cluster(4, 8).spec();
  const auto ranks = [&] {
    const RowRanks of = row_ranks(workload, cluster);
    return std::pair{of.world, of.node};
  };
  CHECK(ranks() == std::pair{32, 8});
  workload.sharding_groups.emplace().size = 16;  // every second rank
  CHECK(ranks() == std::pair{16, 4});
  workload.sharding_groups->consecutive = true;
  CHECK(ranks() == std::pair{16, 8});
  workload.sharding_groups->size = 4;
  CHECK(ranks() == std::pair{4, 4});
}

TEST_CASE("nobody asks TorchRec to run a plan for HugeCTR") {
  Workload workload = two_sequences();
  workload.embedding_kernels = "hugectr";
  CHECK(beyond("{name: table_row_wise}", workload).empty());
}

TEST_CASE("pooled tables have all seven types, sequences four of them") {
  CHECK(torchrec_types(TableKind::pooled).size() == 7);
  CHECK(torchrec_types(TableKind::sequence).size() == 4);
}

}  // namespace shardsim::torchrec_types_test
