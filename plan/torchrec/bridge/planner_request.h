#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "plan/torchrec/bridge/planner_options.h"
#include "plan/torchrec/spec/table_spec.h"
#include "topology/graph/cluster.h"

namespace shardsim::torchrec {

// The project's inputs in the words of TorchRec's planner.

TableSpec table_spec(const Table& table, const Workload& workload);

// Everything that run_planner wants. `tables[i]` is table `order[i]` of the workload.
struct PlannerRequest {
  std::vector<ConstrainedTable> tables;
  std::vector<std::size_t> order;
  RunSettings settings;
};

// Its tables, in the order in which TorchRec meets them: sequence tables first, then pooled ones. Sequence tables of
// several dimensions are several collections, MODULE_DIM. A pooled table is weighted when one of its features is.
PlannerRequest request_of(const Workload& workload);

// `settings` with the batch size and the pipeline of the workload.
EstimateSettings settings_for(const Workload& workload, EstimateSettings settings = {});

// Ranks, capacities and rates of the cluster: HBM as the data sheet has it, the host's memory shared by its GPUs,
// NVLink (else PCIe) inside a host, the NICs' rate per GPU between hosts.
Topology topology_of(const Cluster& cluster);

// One sentence on the tables whose `output_dtype` has other bytes than what the simulation exchanges; empty where none.
std::string output_types_note(const PlannerOptions& options, const Workload& workload);

// Errors: Failure::input for a constraint on a table that the workload does not have.
PlannerRequest planner_request(const PlannerOptions& options, const Workload& workload, const Cluster& cluster);

}  // namespace shardsim::torchrec
