#pragma once

#include "models/workload/workload.h"
#include "plan/torchrec/search/reservation.h"
#include "plan/torchrec/spec/table_spec.h"
#include "plan/torchrec/spec/topology.h"
#include "topology/graph/cluster.h"

namespace shardsim::torchrec {

// The project's inputs in the words of TorchRec's planner.

// One per table, in the order in which TorchRec meets them: sequence tables first, then pooled ones. `index` is the
// table's place in the workload. Sequence tables of several dimensions are several collections, MODULE_DIM. A pooled
// table is weighted when one of its features is.
struct WorkloadTable {
  std::size_t index = 0;
  TableSpec spec;
};
std::vector<WorkloadTable> tables_of(const Workload& workload);
TableSpec table_spec(const Table& table, const Workload& workload);

// Batch size and pipeline of the workload, the rules of the code.
EstimateSettings settings_of(const Workload& workload);

// Ranks, capacities and rates of the cluster: HBM as the data sheet has it, the host's memory shared by its GPUs,
// NVLink (else PCIe) inside a host, the NICs' rate per GPU between hosts.
Topology topology_of(const Cluster& cluster);

// Parameters of the dense part.
void add_dense_part(ReservationSettings& reservation, const Workload& workload);

}  // namespace shardsim::torchrec
