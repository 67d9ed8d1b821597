#include "sim/lower/host/host_launches.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace shardsim::host_launches_test {
namespace {

Op op_of(Program& program, const std::string& name, OpRole role, std::vector<int> after = {}) {
  Op op;
  op.id = static_cast<int>(program.ops.size());
  op.name = name;
  op.role = role;
  op.op_class = class_of(role).value();
  op.after = std::move(after);
  op.kernels = 1;
  program.ops.push_back(op);
  return op;
}

// Ids are split, waited for, looked up; then a dense part and its optimizer.
Program small_program() {
  Program program;
  program.world_size = 2;
  program.ranks_per_node = 2;
  program.batch_per_rank = 100;
  program.streams = {"compute", "world"};
  program.groups = {{"world", {{0, 1}}}};
  op_of(program, "permute", OpRole::permute_inputs);
  op_of(program, "splits", OpRole::exchange_splits, {0});
  program.ops.back().group = "world";
  program.ops.back().stream = 1;
  op_of(program, "host_wait", OpRole::wait_for_splits, {1});
  op_of(program, "recat", OpRole::recat, {2});
  op_of(program, "forward", OpRole::dense_forward, {3});
  program.ops.back().kernels = 4;
  op_of(program, "backward", OpRole::dense_backward, {4});
  program.ops.back().kernels = 6;
  op_of(program, "step", OpRole::dense_update, {5});
  program.ops.front().after_previous = {6};
  return program;
}

Software plain() {
  Software software;
  software.name = "plain";
  software.launch = {10e-6};
  software.blocking_waits = true;
  return software;
}

Program launched(const Software& software, double time_factor = 1) {
  HostWork work;
  work.software = &software;
  work.time_factor = time_factor;
  return with_host(small_program(), work);
}

const Op& named_op(const Program& program, const std::string& name) {
  return *std::ranges::find(program.ops, name, &Op::name);
}

std::int64_t host_ns(const Program& program) {
  std::int64_t sum = 0;
  for (const Op& op : program.ops)
    if (op.role == OpRole::launch) sum += op.fixed_ns;
  return sum;
}

bool waits_for(const Op& op, const Op& other) {
  return std::ranges::count(op.after, other.id) == 1;
}

}  // namespace

TEST_CASE("host: every kernel takes its launch, and an operation waits for the launch of its first one") {
  const Program program = launched(plain());
  CHECK(program.streams.back() == "launch");
  // Kernels: permute, splits, recat, 4, 6 and the optimizer's.
  CHECK(host_ns(program) == 14 * 10'000);
  const Op& forward = named_op(program, "forward");
  const Op& launch = program.ops[static_cast<std::size_t>(forward.id) - 1];
  CHECK(launch.role == OpRole::launch);
  CHECK(waits_for(forward, launch));
  CHECK(launch.fixed_ns == 10'000);
  // The other three kernels of the forward pass are launched while the GPU works, before the first of the backward
  // pass.
  CHECK(program.ops[static_cast<std::size_t>(named_op(program, "backward").id) - 1].fixed_ns == 4 * 10'000);
  CHECK(launched(plain(), 0.5).ops.front().fixed_ns == 5'000);
}

TEST_CASE("host: a wait stands on its stream, and what it launches comes after it") {
  const Program program = launched(plain());
  const Op& wait = named_op(program, "host_wait");
  CHECK(program.streams[static_cast<std::size_t>(wait.stream)] == "launch");
  CHECK(waits_for(wait, named_op(program, "splits")));
  const Op& recat = named_op(program, "recat");
  CHECK(waits_for(recat, wait));
  Software elsewhere = plain();
  elsewhere.blocking_waits = false;
  CHECK(named_op(launched(elsewhere), "host_wait").stream == 0);
}

TEST_CASE("host: one that does not run ahead waits until the whole iteration before is over") {
  Software waiting = plain();
  waiting.runs_ahead = false;
  const Program program = launched(waiting);
  CHECK(program.ops.front().role == OpRole::launch);
  CHECK(program.ops.front().after_previous == std::vector<int>{named_op(program, "step").id});
}

TEST_CASE("host: the iteration before has begun on the GPU before the next one is launched") {
  const Program program = launched(plain());
  CHECK(program.ops.front().role == OpRole::launch);
  CHECK(program.ops.front().after_previous == std::vector<int>{named_op(program, "permute").id});
  CHECK(named_op(program, "permute").after_previous == std::vector<int>{named_op(program, "step").id});
}

TEST_CASE("host: a graph around the dense part is one launch") {
  Software software = plain();
  software.graph = Software::Graph::dense;
  software.graph_launch = {15e-6};
  software.graph_node = {1e-6};
  const Program program = launched(software);
  CHECK(host_ns(program) == 3 * 10'000 + 15'000 + 11 * 1'000);
  const Op& launch = program.ops[static_cast<std::size_t>(named_op(program, "forward").id) - 1];
  CHECK(waits_for(named_op(program, "step"), launch));
}

TEST_CASE("host: a wait inside the graph of an iteration is refused by name") {
  Software software = plain();
  software.graph = Software::Graph::iteration;
  CHECK_THROWS_WITH_AS(launched(software), doctest::Contains("'host_wait'"), Error);
}

TEST_CASE("host: the time of operators and modules holds the launches of their kernels") {
  Software software = plain();
  software.operator_forward = {12e-6};
  software.operator_backward = {12e-6};
  software.module_dist = {100e-6};
  software.fixed = {1e-3};
  software.per_sample = {1e-6};
  HostWork work;
  work.software = &software;
  work.operators = {{4, 3.0}, {5, 2.0}};
  work.features = 7;
  Program program = small_program();
  program.fusions.resize(1);
  // Two launches are left: the optimizer's and none of the input's.
  CHECK(host_ns(with_host(program, work)) == 1'000'000 + 100'000 + 100'000 + 5 * 12'000 + 10'000);
}

TEST_CASE("host: one that takes no time leaves the operations as they were") {
  Software software;
  software.name = "nothing";
  CHECK(launched(software) == small_program());
}

TEST_CASE("host: an all_to_all takes a send and a receive for each peer") {
  Software software = plain();
  software.send_receive = {1e-6};
  CHECK(host_ns(launched(software)) == 14 * 10'000 + 2 * 2 * 1'000);
}

}  // namespace shardsim::host_launches_test
