#include <doctest/doctest.h>

#include "sim/memory/memory_profile.h"
#include "tests/physics/two_tables.h"

namespace shardsim::stashing_test {

// Rows that lie in host memory between lookup and update: laws of bytes, of order and of memory.

using namespace shardsim::physics;

namespace {

constexpr const char* kDense =
    "input_exchange: full\npipeline: sparse_dist\ndense: {layers: [{name: bottom, in: 16, out: 64}, {name: over, in: "
    "192, out: "
    "4096}, {name: top, in: 4096, out: 4096, repeat: 4}]}\n";

Workload stashing(const std::string& stash) {
  return two_tables_of(TableKind::pooled, kDense + (stash.empty() ? "" : "stash: {" + stash + "}\n"));
}

Program stashed(const std::string& stash) {
  return lowered_plan(plan_of(Strategy::table_wise), stashing(stash), toy_cluster());
}

const Op& only_in(const Program& program, OpRole role) {
  return *std::ranges::find(program.ops, role, &Op::role);
}

Cluster slow_host() {
  ClusterSpec spec = cluster_spec("toy_2x4.yaml");
  spec.host.gpu_link_bandwidth = Bandwidth{1e6};  // a copy takes longer than all else
  return Cluster(spec);
}

double iteration_ms(const std::string& stash) {
  const Cluster cluster = slow_host();
  return simulated(lowered_plan(plan_of(Strategy::table_wise), stashing(stash), cluster), cluster).iteration_ms;
}

}  // namespace

TEST_CASE("all rows leave and come back, but those of tables that stay") {
  const Program program = stashed("restore_at: over");
  for (const OpRole role : {OpRole::stash_rows, OpRole::restore_rows}) {
    const Op& op = only_in(program, role);
    CHECK(op.host_bytes.at(0) == 1000 * 64 * 4);
    CHECK(op.host_bytes.at(5) == 600 * 64 * 4);
    CHECK(op.host_bytes.at(1) == 0);
  }
  CHECK(only_in(stashed("restore_at: over, keep: [a]"), OpRole::stash_rows).host_bytes.at(0) == 0);
}

TEST_CASE("where no row leaves, nothing is copied") {
  const Cluster cluster = toy_cluster();
  const auto copies = [&](Strategy strategy, const std::string& stash) {
    const Program program = lowered_plan(plan_of(strategy), stashing(stash), cluster);
    return std::ranges::count(program.ops, OpRole::stash_rows, &Op::role) +
           std::ranges::count(program.ops, OpRole::restore_rows, &Op::role);
  };
  CHECK(copies(Strategy::table_wise, "restore_at: over") == 2);
  CHECK(copies(Strategy::data_parallel, "restore_at: over") == 0);
  CHECK(copies(Strategy::data_parallel, "restore_at: gradients") == 0);
  CHECK(stashed("restore_at: over, keep: []").ops.size() == stashed("restore_at: over").ops.size());
}

TEST_CASE("rows leave behind their lookups and are back before their update") {
  const Program program = stashed("restore_at: gradients");
  const Op &stash = only_in(program, OpRole::stash_rows), &restore = only_in(program, OpRole::restore_rows);
  for (const Op& op : program.ops) {
    if (op.role == OpRole::lookup) CHECK(std::ranges::count(stash.after, op.id) == 1);
    if (op.role == OpRole::update) CHECK(std::ranges::count(op.after, restore.id) == 1);
  }
  CHECK(std::ranges::count(restore.after, stash.id) == 1);
}

TEST_CASE("rows start on their way back where the backward pass reaches their layer") {
  const auto places = [](const std::string& stash) {
    const Program program = stashed(stash);
    std::vector<int> backward;
    for (const Op& op : program.ops)
      if (op.role == OpRole::dense_backward) backward.push_back(op.id);
    const int restore = only_in(program, OpRole::restore_rows).id;
    return std::pair(restore<backward.front(), restore> backward.back());
  };
  CHECK(places("restore_at: top") == std::pair(true, false));
  CHECK(places("restore_at: gradients") == std::pair(false, true));
  CHECK(places("restore_at: bottom") == std::pair(false, true));
}

TEST_CASE("an iteration whose rows take long to leave and return is longer than one whose rows stay") {
  const double without = iteration_ms(""), early = iteration_ms("restore_at: top");
  CHECK(without < early);
  CHECK(early <= iteration_ms("restore_at: gradients"));
}

TEST_CASE("a peak between lookup and update holds no rows") {
  const Cluster cluster = toy_cluster();
  const auto peak = [&](const std::string& stash) {
    const Workload workload = stashing(stash);
    const Plan plan = plan_of(Strategy::table_wise);
    const Program program = lowered_plan(plan, workload, cluster);
    return memory_profile(program, simulated(program, cluster), plan, workload).ranks.front();
  };
  const MemoryPeak stays = peak(""), leaves = peak("restore_at: gradients");
  CHECK(leaves.bytes() <= stays.bytes());
  CHECK(stays.amounts[MemoryPart::tables] == 1000 * 64 * 4);
}

TEST_CASE("rows of CPUs lie with the host already, so they are not stashed") {
  ClusterSpec spec = cluster_spec("toy_2x4.yaml");
  spec.device = "cpu";
  const Cluster cpus(spec);
  std::string message;
  try {
    lowered_plan(plan_of(Strategy::table_wise), stashing("restore_at: over"), cpus);
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message.find("the ranks of the cluster are CPUs") != std::string::npos);
  CHECK_NOTHROW(lowered_plan(plan_of(Strategy::table_wise), stashing(""), cpus));
}

TEST_CASE("a place that is none, and tables that are none, are refused") {
  const auto refused = [](const std::string& stash) {
    try {
      stashing(stash);
    } catch (const Error& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  CHECK(refused("restore_at: nowhere").find("no layer of dense has this name") != std::string::npos);
  CHECK(refused("restore_at: over, keep: [z]").find("is no table") != std::string::npos);
  CHECK(refused("restore_at: over, keep: [b, a]").find("nothing is stashed") != std::string::npos);
  CHECK(refused("keep: [a]").find("restore_at") != std::string::npos);
}

}  // namespace shardsim::stashing_test
