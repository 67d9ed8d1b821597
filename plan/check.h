#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/workload/workload.h"
#include "plan/memory_model.h"
#include "plan/plan.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// Refuses rows or columns held twice or not at all, ranks outside the world, ranks named twice, replica groups of
// unequal length, unknown compute kernels, shards of table_row_wise, table_column_wise and
// grid_shard that leave their node (not with `nodes_known` false: where ranks lie is then not known), several nodes
// without NICs. Errors: Failure::input at `place`, or at the table's place where `tables`
// has one.
void check_plan(const Plan& plan, const Workload& workload, const Cluster& cluster, const Place& place,
                bool nodes_known = true, const std::vector<Place>& tables = {});

// Names the first rows or columns that two of the placements hold, or that none holds; empty when each is held exactly
// once. `placements`: all of one table, each inside it and not empty. Costs n log n for n placements.
std::string coverage_fault(const std::vector<const Placement*>& placements, const Table& table);

// "a (39.4 GiB), b (1.2 GiB)": the three that take most, of tables with their bytes; equal ones in the order given.
std::string largest_tables_text(std::vector<std::pair<std::string, double>> tables);

// Bytes of rows that a plan keeps on the SSDs of each node; those of virtual tables, which grow, are not counted.
std::vector<double> ssd_bytes_of_nodes(const Plan& plan, const Workload& workload, const Cluster& cluster);

// Bytes of rows and their optimizer states that a plan keeps in the host memory of each node, by the memory model, and
// of the caches of key-value stores there.
std::vector<double> host_memory_of_nodes(const Plan& plan, const Workload& workload, const Cluster& cluster,
                                         const MemoryModel& model);

// Refuses a plan that needs more memory than a rank has, or more host memory or SSD than a node has (if the cluster
// states them). Errors: Failure::infeasible naming the rank or node, the missing bytes and the largest tables there.
void check_memory(const Plan& plan, const Workload& workload, const Cluster& cluster, const MemoryModel& model);

}  // namespace shardsim
