#include <doctest/doctest.h>

#include <algorithm>

#include "sim/engine/node_classes.h"
#include "sim/engine/op_work.h"
#include "tests/physics/lab.h"

namespace shardsim::straggler_test {

// Slow parts slow the iteration, and simulating one node for all its equals changes nothing.

using namespace shardsim::physics;

namespace {

FaultSpec slow_gpu(int node, int gpu, double compute_factor) {
  FaultSpec fault;
  fault.node = node;
  fault.gpu = gpu;
  fault.compute_factor = compute_factor;
  return fault;
}

FaultSpec slow_nic(int node, int nic, double rate_factor) {
  FaultSpec fault;
  fault.node = node;
  fault.nic = nic;
  fault.rate_factor = rate_factor;
  return fault;
}

Timeline run(const std::string& planner, const ClusterSpec& spec, const std::vector<FaultSpec>& faults) {
  ClusterSpec faulty = spec;
  faulty.faults = faults;
  return simulated(lowered(planner, shipped_workload("rm1.yaml"), Cluster(spec), even_rows()), Cluster(faulty));
}

NodeClasses classes_of(const Program& program, const Cluster& cluster) {
  const auto compute = make_compute_model(named("roofline"));
  return classify_nodes(expand_ops(program, cluster, *compute, {}), cluster);
}

// Each node differs from the others by a few units in the last place, which no simulated time shows.
ClusterSpec told_apart(ClusterSpec spec) {
  for (int node = 1; node < spec.nodes; ++node) spec.faults.push_back(slow_nic(node, 0, 1 - node * 0x1.0p-52));
  return spec;
}

}  // namespace

TEST_CASE("a GPU at half speed lengthens the iteration by the compute that it adds") {
  const ClusterSpec spec = cluster_spec("a100_mesh_4x8.yaml");
  const double before = run("{name: row_wise}", spec, {}).iteration_ms;
  const Timeline slow = run("{name: row_wise}", spec, {slow_gpu(1, 2, 0.5)});
  // Nothing overlaps in the row-wise plan, so all of its compute takes twice as long: 6 + 27.26 + 54.51 + 13 ms
  // (scenarios/workloads/rm1.yaml, dense.measured.split).
  CHECK(off(slow.iteration_ms, before + 100.77) <= 1e-5);
}

TEST_CASE("one straggler is felt by all: every rank's iteration is the slow one's") {
  const ClusterSpec spec = cluster_spec("a100_mesh_4x8.yaml");
  const Timeline slow = run("{name: row_wise}", spec, {slow_gpu(3, 7, 0.5)});
  std::vector<double> first(slow.world_size, 1e300), last(slow.world_size, 0);
  for (const Span& span : slow.spans) {
    first[span.rank] = std::min(first[span.rank], span.start_us);
    last[span.rank] = std::max(last[span.rank], span.end_us);
  }
  // Its update is the last operation; the others are done with theirs 13 ms earlier and wait in the next exchange.
  const int straggler = 3 * 8 + 7;
  CHECK(off(last[straggler] - first[straggler], slow.iteration_ms * 1e3) <= 1e-6);
  for (int rank = 0; rank < slow.world_size; ++rank) {
    if (rank != straggler) CHECK(std::abs(last[straggler] - last[rank] - 13e3) <= 1);
  }
}

TEST_CASE("a NIC at half rate doubles the bytes' time of the collectives across it") {
  const ClusterSpec spec = cluster_spec("a100_mesh_4x8.yaml");
  const Timeline before = run("{name: row_wise}", spec, {});
  const Timeline slow = run("{name: row_wise}", spec, {slow_nic(2, 5, 0.5)});
  CHECK(slow.iteration_ms > before.iteration_ms);
  for (std::size_t op = 0; op < slow.ops.size(); ++op) {
    if (slow.ops[op].op_class != "all_to_all") continue;
    // The fitted start holds for the large exchanges of vectors; that of ids has 60 + 24 x 5 us, and 2.5 us of latency.
    const double start = slow.ops[op].name == "input_all_to_all" ? 182.5 : 3873;
    CHECK(off(slow.ops[op].alone_us - start, 2 * (before.ops[op].alone_us - start)) <= 1e-6);
  }
}

TEST_CASE("every fault lengthens the iteration of every plan, worse ones more") {
  const ClusterSpec spec = cluster_spec("a100_mesh_4x8.yaml");
  for (const std::string planner : {"{name: row_wise}", "{name: flexshard_2tier}", "{name: flexshard_3tier}"}) {
    CAPTURE(planner);
    const double healthy = run(planner, spec, {}).iteration_ms;
    const double gpu = run(planner, spec, {slow_gpu(0, 0, 0.9)}).iteration_ms;
    const double worse_gpu = run(planner, spec, {slow_gpu(0, 0, 0.5)}).iteration_ms;
    const double nic = run(planner, spec, {slow_nic(0, 0, 0.9)}).iteration_ms;
    const double worse_nic = run(planner, spec, {slow_nic(0, 0, 0.5)}).iteration_ms;
    CHECK(healthy < gpu);
    CHECK(gpu < worse_gpu);
    CHECK(healthy < nic);
    CHECK(nic < worse_nic);
  }
}

TEST_CASE("one node simulated for all its equals gives the spans of all nodes simulated") {
  for (const std::string file : {"a100_mesh_4x8.yaml", "two_tier_8.yaml", "aws_p4d.yaml", "hgx_h100_8x400g.yaml"}) {
    const ClusterSpec spec = cluster_spec(file, 4);
    const Cluster equal(spec), distinct(told_apart(spec));
    for (const std::string planner :
         {"{name: row_wise}", "{name: flexshard_2tier}", "{name: flexshard_3tier}", "{name: flex}"}) {
      CAPTURE(file);
      CAPTURE(planner);
      const Program program = lowered(planner, shipped_workload("rm3.yaml"), equal, even_rows());
      CHECK(classes_of(program, distinct).representative == std::vector<int>{0, 1, 2, 3});
      const Timeline quotient = simulated(program, equal);
      // In a double tree over four nodes the ends are alike, and the two in the middle.
      const bool over_a_tree = std::any_of(quotient.ops.begin(), quotient.ops.end(),
                                           [](const auto& op) { return op.algorithm == "NVLSTree"; });
      const std::vector<int> alike = over_a_tree ? std::vector<int>{0, 1, 1, 0} : std::vector<int>{0, 0, 0, 0};
      CHECK(classes_of(program, equal).representative == alike);
      const Timeline whole = simulated(program, distinct);
      CHECK(off(quotient.iteration_ms, whole.iteration_ms) <= 1e-9);
      REQUIRE(quotient.spans.size() == whole.spans.size());
      // Starts may swap places by rounding: compare by rank and operation.
      std::map<std::pair<int, int>, Span> by_rank_and_op;
      for (const Span& span : whole.spans) by_rank_and_op[{span.rank, span.op}] = span;
      const double tolerance = quotient.iteration_ms * 1e3 * 1e-9;
      for (const Span& span : quotient.spans) {
        const Span& other = by_rank_and_op.at({span.rank, span.op});
        CHECK(std::abs(span.start_us - other.start_us) <= tolerance);
        CHECK(std::abs(span.end_us - other.end_us) <= tolerance);
        CHECK(span.bytes == other.bytes);
      }
    }
  }
}

TEST_CASE("a straggler's node is simulated apart, its equals still together") {
  ClusterSpec spec = cluster_spec("two_tier_8.yaml", 6);
  const Program program = lowered("{name: row_wise}", shipped_workload("rm3.yaml"), Cluster(spec), even_rows());
  spec.faults = {slow_gpu(2, 3, 0.5)};
  const std::vector<int> expected = {0, 0, 2, 0, 0, 0};
  CHECK(classes_of(program, Cluster(spec)).representative == expected);
}

}  // namespace shardsim::straggler_test
