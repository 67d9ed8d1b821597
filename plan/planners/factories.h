#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plan/planner.h"

namespace shardsim {

struct TierCut;

// The makers that the table in all.cpp lists. Each reads its own options but `name`.
std::unique_ptr<Planner> make_autoshard(MapReader& options);
std::unique_ptr<Planner> make_flexshard(int tiers, MapReader& options);  // 2 or 3
std::unique_ptr<Planner> make_greedy(MapReader& options);
std::unique_ptr<Planner> make_hugectr(MapReader& options);
std::unique_ptr<Planner> make_hugectr_hybrid(MapReader& options);
std::unique_ptr<Planner> make_memory_balanced(MapReader& options);
std::unique_ptr<Planner> make_neuroshard(MapReader& options);
std::unique_ptr<Planner> make_per_table(MapReader& options);
std::unique_ptr<Planner> make_random(MapReader& options);
std::unique_ptr<Planner> make_search(MapReader& options);
std::unique_ptr<Planner> make_torchrec(MapReader& options);
std::unique_ptr<Planner> make_uniform(Strategy strategy, MapReader& options);  // all tables alike

// Steps that several planners share.

// All ranks as one list, and the ranks of each node as a list of their own.
std::vector<std::vector<int>> world_group(const Cluster& cluster);
std::vector<std::vector<int>> node_groups(const Cluster& cluster);

// Every table whole, under one strategy, by the same ranks.
Plan uniform_plan(const Workload& workload, Strategy strategy, const std::vector<std::vector<int>>& holders,
                  std::uint64_t seed);

// Every table in the tiers of the cut: data-parallel, flex by node, row-wise over all ranks.
Plan tiered_plan(const TierCut& cut, const Workload& workload, const Cluster& cluster, std::uint64_t seed);

// Columns [begin, end).
struct ColumnSlice {
  std::int64_t begin = 0, end = 0;
};

// At most `most` slices of `dim` columns, none narrower than `min_partition` (and at least one). The first dim mod
// slices are one column wider.
std::vector<ColumnSlice> column_slices(std::int64_t dim, std::int64_t min_partition, std::int64_t most);

// Adds to the plan all rows of the slice of table number `index`, with the usual kernel of the strategy.
void add_slice(Plan& plan, const Workload& workload, std::size_t index, Strategy strategy, std::vector<int> holders,
               const ColumnSlice& slice);

}  // namespace shardsim
