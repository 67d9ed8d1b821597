#include <doctest/doctest.h>

#include <functional>

#include "tests/base/error_text.h"
#include "tests/validate/execute/sample_programs.h"
#include "validate/execute/devices/machine.h"

namespace shardsim::gpu_limits_test {

namespace {

std::string complaint(const std::function<void(Program&)>& spoil) {
  Program program = sample::lowered(std::vector<Strategy>{Strategy::row_wise}, sample::workload(sample::kPooledTables));
  spoil(program);
  ProgramPlaces places;
  places.program.source = "here";
  return input_error_of([&] { check_gpu_limits(program, places); });
}

Op& lookup_of(Program& program) {
  for (Op& op : program.ops) {
    if (op.op_class == OpClass::lookup) return op;
  }
  throw run_error("no lookup", "");
}

bool says(const std::string& message, const std::string& part) {
  INFO(message);
  return message.starts_with("here: operation ") && message.find(part) != std::string::npos &&
         message.find("--device cpu") != std::string::npos;
}

}  // namespace

TEST_CASE("what the kernels of a GPU do not take is told by name") {
  CHECK(complaint([](Program&) {}).empty());
  CHECK(complaint([](Program& p) { p.shards[1].column_end = 12288; }).empty());
  CHECK(says(complaint([](Program& p) { p.shards[1].column_end = 12289; }), "shard 1 has 12289 columns"));
  CHECK(says(complaint([](Program& p) { lookup_of(p).lookups.values = {1, 2147483648.0}; }), "2^31 lookups"));
  CHECK(says(complaint([](Program& p) { lookup_of(p).bags.values = {4294967296.0}; }), "2^32 bags"));
  CHECK(says(complaint([](Program& p) { lookup_of(p).shards.assign(65536, 0); }), "65536 shards"));
  CHECK(complaint([](Program& p) { lookup_of(p).shards.assign(65535, 0); }).empty());
}

TEST_CASE("tables that a GPU has no room for are told before anything is allocated") {
  Program program = sample::lowered(std::vector<Strategy>{Strategy::row_wise}, sample::workload(sample::kPooledTables));
  std::int64_t all = 0, cells = 0;
  for (int rank = 0; rank < program.world_size; ++rank) all += least_gpu_bytes(program, rank);
  for (const Table& table : program.tables) cells += table.rows * table.dim;
  CHECK(all == 4 * cells);  // fp32, each row on one rank
  const std::int64_t own = least_gpu_bytes(program, 1);
  check_gpu_memory(program, 1, own);
  try {
    check_gpu_memory(program, 1, own - 1);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::infeasible);
    CHECK(std::string(error.what()).starts_with("the rows of rank 1 take "));
  }
}

}  // namespace shardsim::gpu_limits_test
