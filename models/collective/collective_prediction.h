#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/collective.h"
#include "models/collective/rank_bytes.h"

namespace shardsim {

// One call of a collective asked for alone, as a benchmark runs it.
struct CollectiveQuestion {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;              // as nccl-tests counts: all_to_all, all_gather and reduce_scatter a rank's total
  const ByteMatrix* matrix = nullptr;  // all_to_all with uneven bytes; absent: `bytes` spread evenly
  std::vector<int> ranks;              // one group
  std::vector<std::vector<int>> beside;                // other groups that do the same at the same time
  bool nvls_reduces = true;                            // NVSwitches can reduce the elements
  const std::vector<RankBytes>* rank_bytes = nullptr;  // all_to_all of which only each rank's sums are known
};

struct CollectivePrediction {
  Seconds time;            // of the slowest group
  std::string algorithm;   // "Ring", "Tree", "NVLS", ... as NCCL names them, or an entry of collective_algorithms();
                           // "none" for a group of one rank
  std::string protocol;    // "LL", "LL128", "Simple"; empty where no protocol is told apart
  std::string bottleneck;  // name of the link that is busiest; empty when nothing moves
  std::string extrapolated_fit;  // for which ranks and sizes it was fitted, where those are others
  std::string outside_fit;       // why what was fitted for the kind does not hold for this call; empty where it does
  std::string_view taken_outside_fit;  // what the call takes instead
  std::string outside_relay_fit;       // the same of the relays' efficiency, which the call takes all the same
};

// The time that a simulation gives the same call when nothing else runs: both expand it by expand_collective(). The
// overheads are those of the cluster's spec.
// Errors (Failure::input): a rank that is not in the cluster, or is named twice; a matrix of the wrong size; bytes
// below 0.
CollectivePrediction predict_collective(const CollectiveQuestion& question, const Cluster& cluster);

// The time alone of an even exchange or another collective, by schedules that are kept for the calls to come.
Seconds predicted_time(const CollectiveQuestion& question, const Cluster& cluster, KeptSchedules& kept);

}  // namespace shardsim
