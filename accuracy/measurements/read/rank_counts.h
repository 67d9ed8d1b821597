#pragma once

#include <optional>
#include <string>
#include <vector>

#include "accuracy/measurements/read/run_method.h"
#include "base/error.h"
#include "models/collective/collective_kind.h"

namespace shardsim {

// One line of nccl-tests about a rank, "#  Rank  3 Group  0 Pid 103 on node1 device 3 [0000:e3:00] NVIDIA H200".
struct RunDevice {
  Place place;
  int rank = 0, group = 0;
  std::string pid, host;      // "" when the line does not say it
  std::optional<int> number;  // of the GPU in its host, as CUDA counts for that process
  std::string bus, name;
};

// The factor between busbw and algbw of a run, as closely as its printed rows tell: it depends on the kind and on the
// number of ranks alone (NVIDIA/nccl-tests doc/PERFORMANCE.md).
class BusRatio {
 public:
  // Rates in GB/s as they were printed, to 0.005.
  void add(double algbw, double busbw);

  bool is_known() const { return from_ <= to_; }
  bool is_zero() const { return is_known() && to_ < kLeast; }
  double middle() const { return (from_ + to_) / 2; }
  // Tells whether a run of that kind and so many ranks prints it; true where nothing is known.
  bool fits(CollectiveKind kind, int ranks) const;
  // The only number of ranks that fits; nothing when none or several do.
  std::optional<int> ranks_of(CollectiveKind kind) const;
  // Tells whether a run of that kind may print it with any number of ranks.
  bool fits_kind(CollectiveKind kind) const;

 private:
  static constexpr double kLeast = 0.4;  // below half, which two ranks have
  double from_ = -1, to_ = -2;
};

// How the ranks of one group lie on hosts, as far as a run says it.
struct RankCounts {
  int ranks = 0;                     // of one group; 0: not known
  int hosts = 0, gpus_per_host = 0;  // 0: not known
  // The nodes that the ranks lie on at most, where every rank has its line: hosts by name, of which one counts again
  // for each time that it lists the same GPU, since machines may share a name; 0: not known.
  int most_hosts = 0;
  // The ranks that one host has at least, by the lines that name it and another GPU each; 0: no line names a host.
  int least_on_host = 0;
  int gpus_of_process = 0;  // where no line about ranks is left: ranks of one host, of every process as many
  int groups_at_once = 1;
  std::string said_by;   // which lines and rates say so, for messages; "" where nothing does
  std::string conflict;  // why the lines and the rates cannot all be of one run; "" when they can
};

// Reconciles the lines about ranks, of which some may have been cut from a log, with the ratio of the printed rates,
// and with the GPUs of each process. Cut lines count by the highest rank, and by their GPUs' numbers in their hosts.
// Errors: none, see `conflict`.
RankCounts count_ranks(const std::vector<RunDevice>& devices, const BusRatio& ratio, CollectiveKind kind,
                       const RunMethod& method);

}  // namespace shardsim
