#include <doctest/doctest.h>

#include <cmath>

#include "tests/models/test_clusters.h"

namespace shardsim::flexshard_test {

using namespace shardsim::test;

// Table 6 of the FlexShard paper (elements of 4 bytes per GPU and direction, times in ms of both directions), with the
// constants that two of its rows fit (RM-2 row-wise, RM-4 3-tier) and one start (RM-3 3-tier cross all-reduce).

namespace {

Cluster shipped(const std::string& name) {
  return Cluster(
      read_cluster(read_yaml_file(std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/clusters/" + name + ".yaml")));
}

// The study's cluster with NVSwitch in its nodes, as its file derives it from the mesh.
Cluster with_nvswitch() {
  const std::string folder = std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/clusters/";
  Tree over = read_yaml_file(folder + "a100_nvswitch_4x8.yaml");
  std::erase_if(over.fields, [](const auto& field) { return field.first == "base"; });
  return Cluster(read_cluster(merged(read_yaml_file(folder + "a100_mesh_4x8.yaml"), over)));
}

// Half a unit of the last printed digit, and 0.1 % for constants printed to four digits.
bool near(double ms, double printed, double digit) {
  return std::abs(ms - printed) <= digit / 2 + 1e-3 * printed;
}

double two_calls_ms(const Cluster& cluster, const std::vector<int>& ranks, double bytes) {
  return 2 * all_to_all(cluster, ranks, even_matrix(std::llround(bytes))).alone(cluster).ms();
}

struct Row {
  const char* name;
  double size;
  double calibrated_ms;
};

constexpr Row kGlobalAllToAll[] = {
    // elements
    {"RM-1 row-wise", 972'424'960, 312.3}, {"RM-1 2-tier", 450'510'848, 148.8}, {"RM-1 3-tier", 297'697'024, 101.0},
    {"RM-2 row-wise", 958'656'768, 308.0}, {"RM-2 2-tier", 220'126'208, 76.7},  {"RM-2 3-tier", 138'198'784, 51.0},
    {"RM-3 row-wise", 466'826'496, 154.0}, {"RM-3 2-tier", 311'369'728, 105.3}, {"RM-3 3-tier", 246'077'440, 84.8},
    {"RM-4 row-wise", 473'709'312, 156.1}, {"RM-4 2-tier", 201'887'232, 71.0},  {"RM-4 3-tier", 118'944'768, 45.0},
};
constexpr Row kInNode[] = {  // GB: published Flex coverage times row-wise volume
    {"RM-1", 1.1902, 31.4},
    {"RM-2", 0.8321, 22.0},
    {"RM-3", 0.4836, 12.8},
    {"RM-4", 0.6821, 18.0}};
constexpr Row kCross[] = {  // MB per GPU
    {"RM-1", 151.6, 13.7},
    {"RM-2", 306.8, 25.8},
    {"RM-3", 40.8, 5.0},
    {"RM-4", 75.9, 7.8}};
constexpr double kGlobalAllReduceMb[] = {354.5, 102.5, 519.2, 131.8, 118.1, 37.6, 189.3, 56.4};

}  // namespace

TEST_CASE("the global all-to-all of Table 6 comes out as calibrated") {
  const Cluster cluster = shipped("a100_mesh_4x8");
  for (const Row& row : kGlobalAllToAll) {
    CAPTURE(row.name);
    const double ms = two_calls_ms(cluster, ranks_from(0, 32), 4 * row.size);
    CHECK(near(ms, row.calibrated_ms, 0.1));
    CHECK(ms == doctest::Approx(7.746 + 78.301 * 4e-9 * row.size).epsilon(1e-3));
  }
}

TEST_CASE("the in-node all-to-all of Table 6 comes out of the mesh and its relays") {
  const Cluster cluster = shipped("a100_mesh_4x8");
  for (const Row& row : kInNode) {
    CAPTURE(row.name);
    CHECK(near(two_calls_ms(cluster, ranks_from(8, 8), row.size * 1e9), row.calibrated_ms, 0.1));
  }
}

// A star model of the mesh node is wrong by that much.
TEST_CASE("a node with NVSwitch does the same exchange 3.2 to 3.8 times faster") {
  const Cluster mesh = shipped("a100_mesh_4x8");
  for (const Cluster& star : {with_nvswitch(), shipped("dgx_a100_80gb")})
    for (const Row& row : kInNode) {
      CAPTURE(row.name);
      const double bytes = row.size * 1e9;
      const double ratio = two_calls_ms(mesh, ranks_from(0, 8), bytes) / two_calls_ms(star, ranks_from(0, 8), bytes);
      CHECK(ratio > 3.2);
      CHECK(ratio < 3.8);
    }
}

TEST_CASE("the cross-node all-reduce of Table 6 comes out as calibrated") {
  const Cluster cluster = shipped("a100_mesh_4x8");
  for (const Row& row : kCross) {
    CAPTURE(row.name);
    const auto loads = reduction(cluster, ranks_from(5, 4, 8), std::llround(row.size * 1e6), "auto");
    CHECK(near(loads.alone(cluster).ms(), row.calibrated_ms, 0.1));
    CHECK(loads.algorithm == "ring");
  }
}

TEST_CASE("every global all-reduce of Table 6 lies between 1 and 8 ms") {
  const Cluster cluster = shipped("a100_mesh_4x8");
  for (double mb : kGlobalAllReduceMb) {
    CAPTURE(mb);
    const double ms = reduction(cluster, ranks_from(0, 32), std::llround(mb * 1e6), "auto").alone(cluster).ms();
    CHECK(ms > 1);
    CHECK(ms < 8);
  }
}

}  // namespace shardsim::flexshard_test
