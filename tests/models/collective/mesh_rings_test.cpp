#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/collective/channel_layout.h"
#include "tests/models/test_clusters.h"

namespace shardsim::mesh_rings_test {

namespace {

NvlinkSpec mesh(std::vector<NvlinkSpec::Pair> pairs) {
  NvlinkSpec spec;
  spec.kind = NvlinkKind::mesh;
  spec.pairs = std::move(pairs);
  return spec;
}

NvlinkSpec cube(int doubled) {
  return mesh({{0, 1, doubled},
               {0, 2, doubled},
               {0, 3, 2 * doubled},
               {0, 4, 2 * doubled},
               {1, 2, 2 * doubled},
               {1, 3, doubled},
               {1, 5, 2 * doubled},
               {2, 3, 2 * doubled},
               {2, 6, doubled},
               {3, 7, doubled},
               {4, 5, doubled},
               {4, 6, doubled},
               {4, 7, 2 * doubled},
               {5, 6, 2 * doubled},
               {5, 7, doubled},
               {6, 7, 2 * doubled}});
}

NvlinkSpec all_linked(int gpus, int links) {
  NvlinkSpec spec = mesh({});
  for (int a = 0; a < gpus; ++a)
    for (int b = a + 1; b < gpus; ++b) spec.pairs.push_back({a, b, links});
  return spec;
}

int total_links(const std::vector<MeshRing>& rings) {
  int sum = 0;
  for (const MeshRing& ring : rings) sum += ring.links;
  return sum;
}

// Every ring visits every GPU once, over direct links, and no direction of a pair carries more rings than it has links.
void check_rings(const std::vector<MeshRing>& rings, const std::vector<int>& gpus, const NvlinkSpec& nvlink) {
  std::map<std::pair<int, int>, int> used;
  for (const MeshRing& ring : rings) {
    CHECK(std::is_permutation(ring.gpus.begin(), ring.gpus.end(), gpus.begin(), gpus.end()));
    for (std::size_t i = 0; i < ring.gpus.size(); ++i)
      used[{ring.gpus[i], ring.gpus[(i + 1) % ring.gpus.size()]}] += ring.links;
  }
  for (const auto& entry : used) {
    const auto& hop = entry.first;
    const auto& links = entry.second;
    const auto pair = std::find_if(nvlink.pairs.begin(), nvlink.pairs.end(), [&](const NvlinkSpec::Pair& p) {
      return p.a == std::min(hop.first, hop.second) && p.b == std::max(hop.first, hop.second);
    });
    REQUIRE(pair != nvlink.pairs.end());
    CHECK(links <= pair->links);
  }
}

}  // namespace

// NCCL's channels on a cube mesh: 12 on A100 (6 x 40 GB/s doubled), "every link once", 6, on V100.
TEST_CASE("the cube mesh is filled by rings: every link of every GPU once each way") {
  const std::vector<int> gpus{0, 1, 2, 3, 4, 5, 6, 7};
  for (int doubled : {1, 2}) {
    const auto rings = mesh_rings(gpus, cube(doubled));
    check_rings(rings, gpus, cube(doubled));
    CHECK(total_links(rings) == 6 * doubled);
  }
}

TEST_CASE("four GPUs with four links a pair carry twelve rings, one per link") {
  const std::vector<int> gpus{0, 1, 2, 3};
  const auto rings = mesh_rings(gpus, all_linked(4, 4));
  check_rings(rings, gpus, all_linked(4, 4));
  CHECK(total_links(rings) == 12);
}

TEST_CASE("a part of the mesh has rings where its links close one") {
  const auto rings = mesh_rings({0, 1, 2, 3}, cube(2));
  check_rings(rings, {0, 1, 2, 3}, cube(2));
  CHECK(total_links(rings) > 0);
  CHECK(mesh_rings({0, 5, 6}, cube(2)).empty());  // 0-5 and 0-6 have no link
  CHECK(mesh_rings({0, 1}, cube(2)).empty());
}

TEST_CASE("the search is bounded on big meshes and huge link counts") {
  std::vector<int> gpus(24);
  for (int i = 0; i < 24; ++i) gpus[i] = i;
  check_rings(mesh_rings(gpus, all_linked(24, 2)), gpus, all_linked(24, 2));
  CHECK(total_links(mesh_rings({0, 1, 2}, all_linked(3, 1'000'000'000))) > 0);
  NvlinkSpec star = mesh({});  // no cycle at all
  for (int i = 1; i < 24; ++i) star.pairs.push_back({0, i, 1});
  CHECK(mesh_rings(gpus, star).empty());
}

}  // namespace shardsim::mesh_rings_test
