#include "validate/execute/devices/stream_order.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.h"

namespace shardsim::stream_order_test {

namespace {

Op op_of(int id, int stream, std::vector<int> after, std::vector<int> after_previous) {
  Op op;
  op.id = id;
  op.name = "op" + std::to_string(id);
  op.stream = stream;
  op.after = std::move(after);
  op.after_previous = std::move(after_previous);
  return op;
}

Program three_ops() {
  Program program;
  program.world_size = program.ranks_per_node = 2;
  program.streams = {"compute", "world"};
  program.ops = {op_of(0, 0, {}, {2}), op_of(1, 1, {0}, {}), op_of(2, 0, {1}, {})};
  program.ops[1].ranks = {1};
  return program;
}

}  // namespace

TEST_CASE("a stream holds the operations of its rank in list order") {
  const Program program = three_ops();
  const StreamOrder rank0(program, 0);
  const StreamOrder rank1(program, 1);
  CHECK(rank0.ops_of(0) == std::vector<int>{0, 2});
  CHECK(rank0.ops_of(1).empty());
  CHECK(rank1.ops_of(1) == std::vector<int>{1});
}

TEST_CASE("an operation waits for those before it, but not for those of other ranks") {
  const Program program = three_ops();
  StreamOrder order(program, 0);
  order.wait_for(program.ops[0], 0);
  order.ended(0);
  order.wait_for(program.ops[2], 0);  // op 1 is not of rank 0
  std::atomic<bool> passed = false;
  std::thread waiting([&] {
    order.wait_for(program.ops[0], 1);
    passed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_FALSE(passed);
  order.ended(2);
  waiting.join();
  CHECK(passed);
}

TEST_CASE("stop() ends every wait") {
  const Program program = three_ops();
  StreamOrder order(program, 1);
  std::thread waiting([&] { CHECK_THROWS_AS(order.wait_for(program.ops[1], 0), Error); });
  order.stop();
  waiting.join();
  CHECK_THROWS_AS(order.wait_for(program.ops[0], 0), Error);
}

}  // namespace shardsim::stream_order_test
