#include "sim/memory/memory_allowance.h"

#include <algorithm>
#include <numeric>

namespace shardsim {
namespace {

// A guess that rests on one published run of TorchRec's benchmark (scenarios/measurements/torchrec/pipelines.csv,
// t016): 9.3 GB held by PyTorch's allocator above the 63.4 that it had given out, of which 14.9 stay for the whole run.
constexpr double kFragments = 0.19;  // of what comes and goes

}  // namespace

MemoryAllowance memory_allowance(const MemoryPeak& peak, const Workload& workload) {
  const auto first = peak.amounts.bytes.begin();
  const std::int64_t stays = std::accumulate(first, first + kResidentParts, std::int64_t{0});
  // The first step makes the states, which stay, beside the gradients and the temporary tensors of PyTorch's `foreach`
  // optimizers. Initialisation holds less: a bucket of DDP's beside what stays.
  const std::int64_t first_step = stays + 2 * workload.dense.parameters.count;
  return {static_cast<std::int64_t>(kFragments * static_cast<double>(peak.bytes() - stays)),
          std::max<std::int64_t>(0, first_step - peak.bytes())};
}

}  // namespace shardsim
