#include <doctest/doctest.h>

#include <algorithm>

#include "models/collective/collective_prediction.h"
#include "tests/physics/lab.h"

namespace shardsim::predict_test {

// `shardsim collective predict` and a scenario must say the same of the same call.

using namespace shardsim::physics;

namespace {

using Groups = std::vector<std::vector<int>>;

Groups groups_of(const std::string& name, const Cluster& cluster) {
  const int nodes = cluster.nodes(), gpus = cluster.ranks_per_node();
  if (name == "world") return {all_ranks(cluster.world_size())};
  Groups groups(name == "node" ? nodes : gpus);
  for (int rank = 0; rank < cluster.world_size(); ++rank)
    groups[name == "node" ? cluster.node_of(rank) : cluster.gpu_of(rank)].push_back(rank);
  return groups;
}

double predicted_us(CollectiveKind kind, std::int64_t bytes, const Groups& groups, const Cluster& cluster) {
  const Groups beside(groups.begin() + 1, groups.end());
  return predict_collective({kind, bytes, nullptr, groups.front(), beside}, cluster).time.us();
}

// The simulator's clock knows nothing below a nanosecond.
void check_close(double simulated_us, double expected_us) {
  CHECK(std::abs(simulated_us - expected_us) <= 1e-3 + 1e-9 * expected_us);
}

double last_end_us(const Timeline& timeline) {
  double last = 0;
  for (const Span& span : timeline.spans) last = std::max(last, span.end_us);
  return last;
}

void check_same(const Cluster& cluster, const std::string& group, std::int64_t bytes) {
  const std::pair<OpClass, CollectiveKind> kinds[] = {
      {OpClass::all_to_all, CollectiveKind::all_to_all}, {OpClass::all_reduce, CollectiveKind::all_reduce},
      {OpClass::all_gather, CollectiveKind::all_gather}, {OpClass::reduce_scatter, CollectiveKind::reduce_scatter},
      {OpClass::broadcast, CollectiveKind::broadcast},   {OpClass::send_recv, CollectiveKind::send_recv}};
  for (const auto& each : kinds) {
    const auto op_class = each.first;
    const auto kind = each.second;
    Program program = only_collective(cluster, op_class, even_matrix(bytes), bytes);
    program.groups["world"] = groups_of(group, cluster);
    const double expected = predicted_us(kind, bytes, program.groups["world"], cluster);
    CAPTURE(cluster.spec().name);
    CAPTURE(group);
    CAPTURE(collective_kind_name(kind));
    CAPTURE(bytes);
    check_close(simulated(program, cluster).iteration_ms * 1e3, expected);
  }
}

}  // namespace

TEST_CASE("a simulation takes the predicted time for every kind, group and size") {
  for (const std::string file : {"dgx_a100_80gb.yaml", "polaris_a100.yaml", "hgx_h100_8x400g.yaml",
                                 "pcie_rtx6000d.yaml", "a100_mesh_4x8.yaml"}) {
    const Cluster cluster(cluster_spec(file, 2));
    for (const std::string group : {"world", "node", "cross_node"})
      for (std::int64_t bytes : {4LL << 10, 3LL << 20, 1LL << 30}) check_same(cluster, group, bytes);
  }
}

TEST_CASE("it does so too beside a slow NIC, and for groups of unequal sizes that share NICs") {
  ClusterSpec spec = cluster_spec("polaris_a100.yaml", 4);
  spec.faults = {{1, {}, 1, 0.5, 1}};
  const Cluster cluster(spec);
  EngineOptions once;  // later iterations of the quick groups would run beside the first one of the slow groups
  once.iterations = 1;
  for (std::int64_t bytes : {3LL << 20, 1LL << 30}) {
    check_same(cluster, "world", bytes);
    for (const OpClass op_class : {OpClass::all_reduce, OpClass::all_gather}) {
      Program program = only_collective(cluster, op_class, {}, bytes);
      program.groups["world"] = {{0, 4, 8, 12}, {1, 5, 9}, {2, 6}, {3, 7, 10, 11, 13, 14, 15}};
      const double expected = predicted_us(*collective_kind(op_class), bytes, program.groups["world"], cluster);
      check_close(last_end_us(simulated(program, cluster, "simgrid", once)), expected);
    }
  }
}

}  // namespace shardsim::predict_test
