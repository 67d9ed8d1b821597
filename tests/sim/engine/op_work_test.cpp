#include "sim/engine/op_work.h"

#include <doctest/doctest.h>

#include "base/tree/yaml.h"

namespace shardsim::op_work_test {
namespace {

// Two GPUs behind one NIC of 10 GB/s, no overheads.
constexpr const char* kSharedNic = R"(
schema: shardsim.cluster/1
name: shared_nic
nodes: 2
gpu: {model: toy, count: 2, compute_capability: "8.0", hbm: "16 GiB", hbm_bandwidth: "1000 GB/s", flops: {fp32: "10 TFLOP/s"}}
nvlink: {kind: switch, links_per_gpu: 1, per_link: "100 GB/s", latency: "0 s"}
nics: {shared_by: 2, rate: "80 Gbit/s", latency: "0 s"}
overheads: {launch_overhead: "0 s", all_reduce: {across_nodes: {nic_efficiency: 1}}}
)";

Program cross_node_all_reduce(std::vector<std::vector<int>> groups) {
  Program program;
  program.world_size = 4;
  program.ranks_per_node = 2;
  program.streams = {"cross"};
  program.groups["cross_node"] = std::move(groups);
  Op op;
  op.name = "cross_node_all_reduce";
  op.op_class = OpClass::all_reduce;
  op.group = "cross_node";
  op.bytes = 1'000'000'000;
  program.ops = {op};
  return program;
}

double alone_seconds(const Program& program) {
  const Cluster cluster(read_cluster(parse_yaml(kSharedNic, "cluster")));
  const auto compute = make_compute_model(parse_yaml("name: roofline", "compute"));
  return expand_ops(program, cluster, *compute, {}).front().alone.value;
}

}  // namespace

// A ring of two sends 2 (1/2) B over its NIC: 1 GB in 0.1 s at 10 GB/s.
TEST_CASE("groups that share a NIC take its time together, also when nothing else runs") {
  CHECK(alone_seconds(cross_node_all_reduce({{0, 2}})) == doctest::Approx(0.1));
  CHECK(alone_seconds(cross_node_all_reduce({{0, 2}, {1, 3}})) == doctest::Approx(0.2));
}

// Each as it would be by itself, whatever came before it: like ones are expanded once.
TEST_CASE("collectives of one list have the work that each has alone") {
  Program program = cross_node_all_reduce({{0, 2}, {1, 3}});
  const auto add = [&](const auto& change) {
    program.ops.push_back(program.ops.front());
    program.ops.back().id = static_cast<int>(program.ops.size()) - 1;
    change(program.ops.back());
  };
  program.groups["world"] = {{0, 1, 2, 3}};
  add([](Op&) {});
  add([](Op& op) { op.name = "another"; });
  add([](Op& op) { op.bytes /= 2; });
  add([](Op& op) { op.bytes_by_set = {1'000'000'000, 500'000'000}; });
  add([](Op& op) { op.group = "world"; });
  add([](Op& op) { op.op_class = OpClass::all_gather; });
  add([](Op& op) { op.launch_ns = 1000; });
  add([](Op&) {});
  const Cluster cluster(read_cluster(parse_yaml(kSharedNic, "cluster")));
  const auto compute = make_compute_model(parse_yaml("name: roofline", "compute"));
  const std::vector<OpWork> works = expand_ops(program, cluster, *compute, {});
  for (const Op& op : program.ops) {
    CAPTURE(op.id);
    const OpWork& work = works[static_cast<std::size_t>(op.id)];
    const OpWork alone = expand_collective_op(op, program, cluster, {});
    CHECK(work.alone == alone.alone);
    REQUIRE(work.calls.size() == alone.calls.size());
    for (std::size_t set = 0; set < work.calls.size(); ++set) {
      CHECK(work.calls[set].ranks == alone.calls[set].ranks);
      CHECK(work.calls[set].payload == alone.calls[set].payload);
      CHECK(work.calls[set].loads.start == alone.calls[set].loads.start);
      CHECK(work.calls[set].loads.loads.size() == alone.calls[set].loads.loads.size());
    }
  }
}

// Its work is marked, so that one that is expanded anew is told from one that was kept.
TEST_CASE("a reduction that an earlier Program has expanded is taken from it, and only by one that moves the same") {
  Program program = cross_node_all_reduce({{0, 2}, {1, 3}});
  const Cluster cluster(read_cluster(parse_yaml(kSharedNic, "cluster")));
  const auto compute = make_compute_model(parse_yaml("name: roofline", "compute"));
  constexpr Seconds kMark{77};
  const auto taken = [&](const Program& later) {
    std::vector<OpWork> works = expand_ops(program, cluster, *compute, {});
    works.front().alone = kMark;
    KnownReductions known;
    known.keep(program, std::move(works));
    return expand_ops(later, cluster, *compute, {}, known).front().alone == kMark;
  };
  CHECK(taken(program));
  Program more_bytes = program, other_sets = program, later_start = program;
  more_bytes.ops.front().bytes *= 2;
  other_sets.groups["cross_node"] = {{0, 3}, {1, 2}};
  later_start.ops.front().launch_ns = 1000;
  for (const Program& unlike : {more_bytes, other_sets, later_start}) CHECK_FALSE(taken(unlike));
}

}  // namespace shardsim::op_work_test
