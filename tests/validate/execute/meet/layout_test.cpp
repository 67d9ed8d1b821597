#include "validate/execute/meet/layout.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "base/error.h"
#include "tests/base/error_text.h"

namespace shardsim::layout_test {

namespace {

// "a0 a1 b0 b1": rank by rank its node and which of its GPUs.
std::vector<RankSeat> seats(const std::string& text) {
  std::vector<RankSeat> all;
  for (std::size_t at = 0; at + 1 < text.size(); at += 3) {
    const std::string node(1, text[at]);
    all.push_back({"boot of " + node, "GPU-" + text.substr(at, 2), "host-" + node});
  }
  return all;
}

std::string complaint(const std::string& text, int ranks_per_node, bool gpus_shared = false) {
  return error_of([&] { check_layout(seats(text), ranks_per_node, gpus_shared); });
}

}  // namespace

TEST_CASE("ranks that are on nodes as the program has them are welcome") {
  CHECK(complaint("a0 a1 b0 b1", 2).empty());
  CHECK(complaint("a0", 1).empty());
  CHECK(complaint("b3 b2 a1 a0", 2).empty());  // which node comes first, and which GPU a rank has, is no matter
}

TEST_CASE("ranks dealt out to the nodes in turns are refused, as Slurm's cyclic distribution does") {
  const std::string text = complaint("a0 b0 a1 b1", 2);
  CHECK(has(text, "rank 1 runs on host-b, and rank 0 of the same node of the program on host-a"));
  CHECK(has(text, "--distribution=block"));
}

TEST_CASE("another number of ranks on a node is refused with both numbers") {
  CHECK(has(complaint("a0 a1 a2 a3", 2), "host-a has 4 of the ranks (ranks 0 to 3), and the program has 2 on a node"));
  CHECK(has(complaint("a0 a1 b0 b1", 4), "host-a has 2 of the ranks (ranks 0 and 1), and the program has 4 on a node"));
  CHECK(has(complaint("a0 a1 a2 b0", 2), "host-a has 3 of the ranks"));
}

TEST_CASE("a GPU with two ranks is refused with its name, unless they may share it") {
  const std::string text = complaint("a0 a0 b0 b1", 2);
  CHECK(has(text, "ranks 0 and 1 use the same GPU, GPU-a0 of host-a"));
  CHECK(has(text, "--gpus-per-task=1"));
  CHECK(complaint("a0 a0 b0 b1", 2, true).empty());
  CHECK(has(complaint("a0 b0 a0 b1", 2, true), "rank 1 runs on host-b"));
}

TEST_CASE("a node is what NCCL takes for one") {
  unsetenv("NCCL_HOSTID");
  const std::string boot = node_identity();
  CHECK(boot.size() == 36);  // a UUID
  CHECK(node_identity() == boot);
  setenv("NCCL_HOSTID", "first", 1);
  CHECK(node_identity() == "first");
  unsetenv("NCCL_HOSTID");
}

}  // namespace shardsim::layout_test
