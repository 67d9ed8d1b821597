#pragma once

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "plan/torchrec/spec/planner_options.h"
#include "topology/graph/cluster.h"

namespace shardsim::torchrec {

// One table of a plan as TorchRec's estimators see it. Row tiers and flex, which TorchRec does not know, are taken as
// its nearest types (flex: table_row_wise on every node) with the tier's rows and its share of the accesses.
struct GivenTable {
  TableSpec table;  // with the part of the accesses that the placements get
  ShardingOption option;
  std::vector<int> ranks;  // of each shard
};

// The placements of a plan, one option per table and tier, estimated. Sizes of row shards are TorchRec's blocks.
std::vector<GivenTable> given_tables(const Plan& plan, const Workload& workload, const PlannerRequest& request);

// The same as a run that found this plan, with its rating; without reservations or proposals.
RunResult rated_run(const Plan& plan, const Workload& workload, const PlannerRequest& request);

// That with reservations, for its statistics.
RunResult given_run(const Plan& plan, const Workload& workload, const PlannerRequest& request);

ShardingType type_of(Strategy strategy);

}  // namespace shardsim::torchrec
