#include "validate/execute/devices/longest_operation.h"

#include <doctest/doctest.h>

#include "tests/base/error_text.h"

namespace shardsim::longest_operation_test {

namespace {

Op dense(const std::string& name, std::vector<double> flops) {
  Op op;
  op.name = name;
  op.op_class = OpClass::dense;
  op.flops.values = std::move(flops);
  return op;
}

}  // namespace

TEST_CASE("the longest operation is that of the rank with most floating-point operations") {
  Program program;
  program.ops = {dense("small", {1e9}), dense("huge", {1e9, 4.5e15, 2e9}), dense("large", {1e15})};
  const LongestOperation longest = longest_cpu_operation(program, 1);
  CHECK(longest.name == "huge");
  CHECK(longest.flops == 4.5e15);
  CHECK(longest.seconds > 100);  // above 45 TFLOP/s no core is
}

TEST_CASE("bytes that are copied take time as products do, whatever the operations say of themselves") {
  Program program;
  program.ops = {dense("large", {1e12}), dense("merge", {0}), dense("fetch", {0}), dense("named", {1})};
  program.ops[1].hbm_bytes.values = {1e9, 1e15};
  LongestOperation longest = longest_cpu_operation(program, 1);
  CHECK(longest.name == "merge");
  CHECK(longest.bytes == 1e15);
  CHECK(longest.seconds > 500);  // no core moves 2 TB/s
  CHECK(has(to_text(longest), "operation \"merge\" of 1 PB takes a rank"));
  program.ops[2].host_bytes.values = {1e16};
  CHECK(longest_cpu_operation(program, 1).name == "fetch");
  program.ops[3].products = {{{{1e6}}, {{1e6}}, {{1e6}}, 1'000'000, 0}};
  CHECK(longest_cpu_operation(program, 1).name == "named");
}

TEST_CASE("lookups move the rows that they read, not the bytes of a GPU's kernels") {
  Program program;
  program.tables = {{}};
  program.tables[0].dim = 1000;
  program.shards.resize(1);
  program.shards[0].column_end = 1000;
  program.ops = {dense("lookup", {0})};
  program.ops[0].op_class = OpClass::lookup;
  program.ops[0].fusion = 0;
  program.ops[0].shards = {0};
  program.ops[0].hbm_bytes.values = {1e18};
  CHECK(longest_cpu_operation(program, 1).name.empty());
  program.ops[0].lookups.values = {1, 1e12};
  CHECK(longest_cpu_operation(program, 1).bytes == 8e15);
}

TEST_CASE("a stated time counts as it is, and nothing is timed for little work") {
  Program program;
  program.ops = {dense("little", {1e6}), dense("stated", {1e18})};
  program.ops[1].fixed_ns = 7'000'000'000;
  const LongestOperation longest = longest_cpu_operation(program, 1);
  CHECK(longest.name == "stated");
  CHECK(longest.seconds == doctest::Approx(7));
  program.ops.pop_back();
  CHECK(longest_cpu_operation(program, 1).name.empty());
}

TEST_CASE("an operation that takes too long is refused with its work, its time and the way out") {
  const LongestOperation longest{"dense", 4.5e15, 90'000};
  check_longest(longest, 90'000, {"days.json"});
  CHECK(error_of([&] { check_longest(longest, 60, {"days.json"}); }) ==
        "days.json: operation \"dense\" of 4.5 PFLOP takes a rank about 25 hours or more in every iteration, and 60 "
        "seconds are the most. Execute a smaller case, or allow more with --longest-operation SECONDS.");
  CHECK(has(to_text({"pass", 0, 400'000}), "operation \"pass\" takes a rank about 5 days or more"));
}

}  // namespace shardsim::longest_operation_test
