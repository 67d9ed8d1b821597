#include <algorithm>
#include <array>

#include "base/tree/map_reader.h"
#include "plan/planner.h"

namespace shardsim {

// Those of the files beside this one. Each reads its own options but `name`.
PlannerMaker make_autoshard, make_dreamshard, make_greedy, make_hugectr, make_hugectr_hybrid, make_memory_balanced,
    make_neuroshard, make_per_table, make_random, make_search, make_torchrec;
std::unique_ptr<Planner> make_flexshard(int tiers, MapReader& options);        // 2 or 3
std::unique_ptr<Planner> make_uniform(Strategy strategy, MapReader& options);  // all tables alike

namespace {

template <Strategy strategy>
std::unique_ptr<Planner> uniform(MapReader& options) {
  return make_uniform(strategy, options);
}

template <int tiers>
std::unique_ptr<Planner> flexshard(MapReader& options) {
  return make_flexshard(tiers, options);
}

constexpr std::array kPlanners = {
    PlannerEntry{"autoshard",
                 "AutoShard: whole tables, placed by a trained policy so that lookups and updates are balanced",
                 make_autoshard},
    PlannerEntry{"column_wise", "each table cut into column slices, dealt out over all ranks",
                 uniform<Strategy::column_wise>},
    PlannerEntry{"data_parallel", "every table whole on every rank", uniform<Strategy::data_parallel>},
    PlannerEntry{"dreamshard",
                 "DreamShard: whole tables, placed by a trained policy so that computation and exchanges are short",
                 make_dreamshard},
    PlannerEntry{"flex", "each table row-wise inside a node, replicated across nodes", uniform<Strategy::flex>},
    PlannerEntry{"flexshard_2tier", "FlexShard: hot rows data-parallel, the rest row-wise", flexshard<2>, false, true},
    PlannerEntry{"flexshard_3tier", "FlexShard: hot rows data-parallel, warm rows flex, the rest row-wise",
                 flexshard<3>, false, true},
    PlannerEntry{
        "greedy",
        "whole tables in order of a score (size, dim, lookups or predicted cost), each to the least loaded rank",
        make_greedy},
    PlannerEntry{"grid_shard", "column slices dealt out over the nodes, each slice cut into row blocks inside its node",
                 uniform<Strategy::grid_shard>},
    PlannerEntry{"hugectr",
                 "HugeCTR: small tables data-parallel, others cut by rows over some GPUs or nodes to balance lookups",
                 make_hugectr},
    PlannerEntry{"hugectr_hybrid",
                 "HugeCTR's hybrid embedding: the most frequent rows data-parallel, the rest row-wise",
                 make_hugectr_hybrid, false, true},
    PlannerEntry{"memory_balanced",
                 "NVIDIA's distributed-embeddings: whole tables or column slices, dealt out by size to balance memory",
                 make_memory_balanced},
    PlannerEntry{"neuroshard",
                 "NeuroShard: whole tables or halves of their columns, found by beam search with predicted costs",
                 make_neuroshard},
    PlannerEntry{"per_table", "different planners for different tables, which share one memory budget", make_per_table},
    PlannerEntry{"random", "a random sharding type and random ranks for each table, as far as memory allows",
                 make_random, true},
    PlannerEntry{"row_wise", "each table cut into row blocks over all ranks", uniform<Strategy::row_wise>},
    PlannerEntry{"search",
                 "improves other planners' plans table by table with a closed formula, and simulates the best ones",
                 make_search, false, true},
    PlannerEntry{"table_column_wise", "each table on one node, cut into column slices over the ranks of that node",
                 uniform<Strategy::table_column_wise>},
    PlannerEntry{"table_row_wise", "each table on one node, cut into row blocks over the ranks of that node",
                 uniform<Strategy::table_row_wise>},
    PlannerEntry{"table_wise", "whole tables, the largest first, each to the least loaded rank",
                 uniform<Strategy::table_wise>},
    PlannerEntry{"torchrec", "TorchRec's planner: its estimates, proposers and partitioners", make_torchrec},
};

}  // namespace

std::vector<std::string> planner_names() {
  std::vector<std::string> names;
  for (const PlannerEntry& planner : planners()) names.emplace_back(planner.name);
  return names;
}

std::span<const PlannerEntry> planners() {
  return kPlanners;
}

const PlannerEntry* find_planner(std::string_view name) {
  const auto entry = std::ranges::find(kPlanners, name, &PlannerEntry::name);
  return entry == kPlanners.end() ? nullptr : &*entry;
}

std::unique_ptr<Planner> make_planner(const Tree& options) {
  return make_named(planners(), options, "planner");
}

}  // namespace shardsim
