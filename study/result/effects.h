#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "plan/torchrec/bridge/given_plan.h"

namespace shardsim {

// The effects by which a simulated iteration differs from TorchRec's estimate of it (docs/crosscheck.md): what only the
// simulation includes, or only the estimate.
enum class Effect {
  contention,    // transfers that share a link
  overlap,       // operations that run at the same time: below 0
  start_ups,     // of collectives and kernels
  uneven_loads,  // waiting for the slowest rank of each operation, less what the estimate's busiest rank has of it
  ids,           // exchange of ids
  other_work,    // dense part and passes over vectors, less the estimate's copies and prefetch
  lookups,       // the rates that both take
  updates,
  all_to_all,
  reduce_scatter,  // with the all-gather
  all_reduce
};
inline constexpr std::size_t kEffects = 11;
struct EffectWords {
  std::string_view name, key;  // "uneven loads", "uneven_loads"
  std::string_view meaning;    // what the estimate lacks or holds, as a clause
};
const EffectWords& words(Effect effect);
std::vector<std::string> words_of(Effect);  // the keys
inline Effect effect_at(std::size_t index) {
  return static_cast<Effect>(index);
}

using EffectTimes = std::array<double, kEffects>;  // ms, by Effect

// Milliseconds of work by what it is for, mean over the ranks.
struct WorkTimes {
  double ids = 0, other = 0, lookups = 0, updates = 0;
  double all_to_all = 0, reduce_scatter = 0, all_reduce = 0;  // of outputs and gradients
  double total() const { return ids + other + lookups + updates + all_to_all + reduce_scatter + all_reduce; }
};

// One iteration of a Program with one effect after the other taken away, each step on top of those before it; ms.
struct RemovedEffects {
  double uncontended = 0;     // every transfer alone on its link
  double serial = 0;          // all operations of a rank one after the other
  double without_starts = 0;  // collectives and kernels begin at once
  WorkTimes even;             // every rank has the mean of the work, so that nobody waits: the sum is the iteration
};

// Added up, what the simulation takes longer than the estimate, but for rounding.
EffectTimes effects_between(const torchrec::IterationEstimate& estimate, const RemovedEffects& removed,
                            double simulated_ms);

// A case with TorchRec's estimate of it.
struct EstimatedCase {
  torchrec::IterationEstimate estimate;
  RemovedEffects removed;
  EffectTimes effects{};  // between the estimate and the simulation
};

}  // namespace shardsim
