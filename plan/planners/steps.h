#pragma once

#include <cstdint>
#include <vector>

#include "plan/planner.h"

namespace shardsim {

// Steps that several planners share.

// All ranks as one list, and the ranks of each node as a list of their own.
std::vector<std::vector<int>> world_group(const Cluster& cluster);
std::vector<std::vector<int>> node_groups(const Cluster& cluster);

// Every table whole, under one strategy, by the same ranks.
Plan uniform_plan(const Workload& workload, Strategy strategy, const std::vector<std::vector<int>>& holders,
                  std::uint64_t seed);

// Columns [begin, end).
struct ColumnSlice {
  std::int64_t begin = 0, end = 0;
};

// Columns that are never cut apart: the groups that FBGEMM, the executor and nets that learned from them read at once.
std::int64_t columns_together(const PlannerHost& host);

// At most `most` slices of `dim` columns, none narrower than `min_partition` (and at least one), of whole groups of
// `together` columns, if `dim` has only such. The first slices are one group wider where they do not come out even.
std::vector<ColumnSlice> column_slices(std::int64_t dim, std::int64_t min_partition, std::int64_t most,
                                       std::int64_t together);

// Adds to the plan all rows of the slice of table number `index`, with the usual kernel of the strategy.
void add_slice(Plan& plan, const Workload& workload, std::size_t index, Strategy strategy, std::vector<int> holders,
               const ColumnSlice& slice);

}  // namespace shardsim
