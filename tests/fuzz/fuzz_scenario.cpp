// Any bytes as a scenario file: the reader answers with a value or an Error, never with a crash or a hang.
#include <cstdint>
#include <string>

#include "sim/scenario/scenario.h"
#include "tests/fuzz/error_at_most.h"
#include "topology/graph/cluster.h"

namespace {

constexpr int kRanks = 4096;  // a larger world is legal, and slow to build thousands of times

void use(const shardsim::Scenario& scenario) {
  for (const shardsim::Case& item : scenario.cases) {
    if (item.cluster.nodes > kRanks / item.cluster.gpu.count) continue;
    const shardsim::Cluster cluster(item.cluster);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  shardsim::fuzz::expect_error_at_most([&] { use(shardsim::scenario_from_text(text, "fuzz.yaml", {})); });
  return 0;
}
