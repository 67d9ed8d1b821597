#include <array>

#include "base/tree/map_reader.h"
#include "plan/planner.h"
#include "plan/planners/factories.h"

namespace shardsim {
namespace {

constexpr std::array kPlanners = {
    PlannerEntry{"column_wise", "each table cut into column slices, dealt over all ranks", make_column_wise},
    PlannerEntry{"data_parallel", "every table whole on every rank", make_data_parallel},
    PlannerEntry{"flex", "each table row-wise inside a node, replicated across nodes", make_flex},
    PlannerEntry{"flexshard_2tier", "FlexShard: hot rows data-parallel, the rest row-wise", make_flexshard_2tier},
    PlannerEntry{"flexshard_3tier", "FlexShard: hot rows data-parallel, warm rows flex, the rest row-wise",
                 make_flexshard_3tier},
    PlannerEntry{"grid_shard", "column slices dealt over the nodes, each cut into row blocks inside its node",
                 make_grid_shard},
    PlannerEntry{"memory_balanced",
                 "NVIDIA's distributed-embeddings: whole tables or column slices, dealt by size there and back",
                 make_memory_balanced},
    PlannerEntry{"random", "a sharding type and ranks for each table drawn at random, within memory", make_random,
                 true},
    PlannerEntry{"row_wise", "each table cut into row blocks over all ranks", make_row_wise},
    PlannerEntry{"table_column_wise", "a node for each table, cut into column slices inside it",
                 make_table_column_wise},
    PlannerEntry{"table_row_wise", "a node for each table, cut into row blocks inside it", make_table_row_wise},
    PlannerEntry{"table_wise", "whole tables, each to the rank with the least so far, largest first", make_table_wise},
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
