#include <array>

#include "base/tree/map_reader.h"
#include "plan/planner.h"
#include "plan/planners/factories.h"

namespace shardsim {
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
    PlannerEntry{"autoshard", "AutoShard: whole tables, each where a trained policy says, for even lookups and updates",
                 make_autoshard},
    PlannerEntry{"column_wise", "each table cut into column slices, dealt over all ranks",
                 uniform<Strategy::column_wise>},
    PlannerEntry{"data_parallel", "every table whole on every rank", uniform<Strategy::data_parallel>},
    PlannerEntry{"flex", "each table row-wise inside a node, replicated across nodes", uniform<Strategy::flex>},
    PlannerEntry{"flexshard_2tier", "FlexShard: hot rows data-parallel, the rest row-wise", flexshard<2>},
    PlannerEntry{"flexshard_3tier", "FlexShard: hot rows data-parallel, warm rows flex, the rest row-wise",
                 flexshard<3>},
    PlannerEntry{"greedy",
                 "whole tables by a score (size, dim, lookup, predicted cost), each to the rank with the least",
                 make_greedy},
    PlannerEntry{"grid_shard", "column slices dealt over the nodes, each cut into row blocks inside its node",
                 uniform<Strategy::grid_shard>},
    PlannerEntry{"hugectr",
                 "HugeCTR: small tables data-parallel, others cut by rows over some GPUs or nodes, by lookups",
                 make_hugectr},
    PlannerEntry{"hugectr_hybrid",
                 "HugeCTR's hybrid embedding: the most frequent rows data-parallel, the rest row-wise",
                 make_hugectr_hybrid},
    PlannerEntry{"memory_balanced",
                 "NVIDIA's distributed-embeddings: whole tables or column slices, dealt by size there and back",
                 make_memory_balanced},
    PlannerEntry{"neuroshard",
                 "NeuroShard: column halves and whole tables, by a beam over cuts and a predicted iteration",
                 make_neuroshard},
    PlannerEntry{"per_table", "some tables by one planner, others by another, within one memory", make_per_table},
    PlannerEntry{"random", "a sharding type and ranks for each table drawn at random, within memory", make_random,
                 true},
    PlannerEntry{"row_wise", "each table cut into row blocks over all ranks", uniform<Strategy::row_wise>},
    PlannerEntry{"search", "improves the plans of other planners table by table in closed form; the simulation judges",
                 make_search},
    PlannerEntry{"table_column_wise", "a node for each table, cut into column slices inside it",
                 uniform<Strategy::table_column_wise>},
    PlannerEntry{"table_row_wise", "a node for each table, cut into row blocks inside it",
                 uniform<Strategy::table_row_wise>},
    PlannerEntry{"table_wise", "whole tables, each to the rank with the least so far, largest first",
                 uniform<Strategy::table_wise>},
    PlannerEntry{"torchrec", "TorchRec's planner: its estimates, proposers and partitioners", make_torchrec},
};

}  // namespace

std::span<const PlannerEntry> planners() {
  return kPlanners;
}

std::unique_ptr<Planner> make_planner(const Tree& options) {
  return make_named(planners(), options, "planner");
}

}  // namespace shardsim
