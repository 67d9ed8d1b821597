#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/op_work.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// The quantities that one can change of a case while its plan stays: a rate of the machine, a cost, or how much there
// is to do.
enum class Lever {
  nics,
  nvlink,
  pcie,
  host_link,
  ssd,
  hbm,
  flops,
  host,
  collective_starts,
  kernel_starts,
  batch,
  lookups
};

struct LeverWords {
  std::string_view key;   // "nics"
  std::string_view name;  // "NIC rate"
  bool is_rate = false;   // more of it is faster; else less of it is
};
const LeverWords& words(Lever lever);

struct Change {
  Lever lever = Lever::nics;
  double factor = 1;  // of the rate, the cost or the amount
  int table = -1;     // lookups: index into Workload::tables
};

// Changes what the operations take, after they are expanded; may be empty.
using WorksEdit = std::function<void(const Program& program, const Cluster& cluster, std::vector<OpWork>& works)>;

// A case changed, to be simulated with the plan that the original has.
struct ChangedCase {
  Case item;
  WorksEdit edit{};
  bool lowered_anew = false;            // its Program may differ, in sizes
  double factor = 1;                    // what became of Change::factor: batches are whole
  std::vector<std::string> settings{};  // PATH=VALUE: the same as `--set` would have it; none: no key says it
};

// NIC rate: the line rate of the cluster's NICs, with NCCL's channels across nodes where the cluster states some.
// NVLink: the rate that traffic uses, with the channels in a node. PCIe: every link that exchanges take between GPUs,
// from a slot to the memory of the host. Host link: between a GPU and the memory of its host, as a rule PCIe; exchanges
// over PCIe keep their rate. HBM: what memory traffic runs at. FLOP: of all
// precisions. Host: all of its time. Kernel starts: the fixed part of a kernel's time. Lookups: the ids per sample of
// one table.
ChangedCase changed_case(const Case& item, const Change& change);

// True when the case has anything that the lever could move; a table has lookups always.
bool has_lever(const Case& item, Lever lever);

// Returns in sentences what a reader must know of such changes of this case: values that stay as they were stated.
std::vector<std::string> pinned_values(const Case& item);

}  // namespace shardsim
