// Any bytes as a scenario file: the reader answers with a value or an Error, never with a crash or a hang.
#include <cstdint>
#include <string>

#include "study/scenario/scenario.h"
#include "study/sweep/read_sweep.h"
#include "tests/fuzz/error_at_most.h"
#include "topology/graph/cluster.h"

namespace {

constexpr int kRanks = 4096;  // a larger world is legal, and slow to build thousands of times
constexpr std::uint64_t kPoints = 200;
constexpr int kClusters = 8;  // the shipped files have up to a hundred cases, whose clusters are built alike

void use(const shardsim::Scenario& scenario) {
  int built = 0;
  for (const shardsim::Case& item : scenario.cases) {
    if (item.cluster.nodes > kRanks / item.cluster.gpu.count) continue;
    if (++built > kClusters) return;
    const shardsim::Cluster cluster(item.cluster);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  shardsim::fuzz::expect_error_at_most([&] {
    use(shardsim::scenario_from_text(text, "fuzz.yaml", {}));
    if (shardsim::has_sweep(text, "fuzz.yaml"))
      shardsim::sweep_from_text(text, "fuzz.yaml", {}, {.only_case = {}, .most_points = kPoints});
  });
  return 0;
}
