#include <doctest/doctest.h>

#include "tests/validate/execute/checked_run.h"
#include "tests/validate/execute/sample_programs.h"

// Dense gradients that several batches add up, and gradients of ids' weights, executed: their bytes move, rows are as
// ever.
namespace shardsim::accumulated_test {
namespace {

constexpr const char* kAccumulated =
    "none\naccumulate: 3\ndense: {layers: [{name: bottom, in: 4, out: 8}, {name: top, in: 64, out: 16}]}";

}  // namespace

TEST_CASE("sharded rows are updated in each of the batches whose dense gradients are added up") {
  const Program program = sample::lowered("{name: row_wise}", sample::workload(sample::kPooledTables, kAccumulated));
  CHECK(std::ranges::any_of(program.ops, [](const Op& op) { return op.role == OpRole::weight_gradient; }));
  CHECK(std::ranges::any_of(program.ops, [](const Op& op) { return op.role == OpRole::dense_accumulate; }));
  CHECK(test::checked(program, 4) == "");
}

TEST_CASE("the dense part is reduced in one of so many iterations") {
  const auto sent = [](int batches) {
    Program program = sample::lowered(
        "{name: row_wise}",
        sample::workload(sample::kPooledTables, "none\naccumulate: " + std::to_string(batches) +
                                                    "\ndense: {layers: [{name: top, in: 64, out: 16}]}"));
    return test::bytes_sent(program);  // of iteration 0, which has it
  };
  CHECK(sent(3) == sent(1));
}

TEST_CASE("tables whose dense gradients are added up, or that are not sharded, are refused by name") {
  const auto why = [](const std::string& tables, const std::string& more) {
    try {
      return test::checked(sample::lowered("{name: data_parallel}", sample::workload(tables, more)), 1);
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  CHECK(why(sample::kPooledTables, kAccumulated).find("are simulated and not executed") != std::string::npos);
  CHECK(why("  - {name: a, rows: 1000, dim: 64, kind: pooled, pooling_factor: 3, sharded: false}\n", "none")
            .find("are simulated and not executed") != std::string::npos);
}

}  // namespace shardsim::accumulated_test
