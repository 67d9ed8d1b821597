#include <doctest/doctest.h>

#include <functional>

#include "tests/validate/execute/sample_programs.h"
#include "validate/execute/devices/machine.h"

namespace shardsim::gpu_limits_test {

namespace {

std::string complaint(const std::function<void(Program&)>& spoil) {
  Program program = sample::lowered(std::vector<Strategy>{Strategy::row_wise}, sample::workload(sample::kPooledTables));
  spoil(program);
  ProgramPlaces places;
  places.program.source = "here";
  try {
    check_gpu_limits(program, places);
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::input);
    return error.what();
  }
  return "";
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

}  // namespace shardsim::gpu_limits_test
