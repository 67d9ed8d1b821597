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
  return beyond_torchrec(plan_by(planner, workload, test_cluster(2, 4)), workload);
}

}  // namespace

TEST_CASE("what TorchRec does not have of a plan is told with its tables") {
  CHECK(beyond("{name: row_wise}", two_sequences()).empty());
  CHECK(beyond("{name: table_row_wise}", two_sequences()) == "sequences that are table_row_wise (first, second)");
  const std::string tiered = "{name: flexshard_2tier, memory_budget: \"300 MB\", cap_at_comm_neutral: false}";
  CHECK(beyond(tiered, two_sequences()).starts_with("tiers of rows ("));
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
