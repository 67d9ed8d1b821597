#include "plan/planners/column_slices.h"
#include "plan/planners/factories.h"
#include "plan/planners/whole_table.h"

namespace shardsim {
namespace {

// Column slices, at most one per node, each cut into rows over the ranks of a node; the slices are dealt round robin
// over the nodes, on from where the last table stopped.
class GridShard : public Planner {
 public:
  explicit GridShard(std::int64_t min_partition) : min_partition_(min_partition) {}

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    const std::vector<std::vector<int>> ranks = node_groups(cluster);
    std::size_t next = 0;
    Plan plan;
    plan.hash_seed = context.seed;
    for (std::size_t t = 0; t < workload.tables.size(); ++t) {
      for (const ColumnSlice& slice : column_slices(workload.tables[t].dim, min_partition_, cluster.nodes())) {
        const std::vector<int>& holders = ranks[next++ % ranks.size()];
        plan.placements.push_back(cut_out(whole_table(workload, t, Strategy::grid_shard, {holders}), slice));
      }
    }
    return plan;
  }

 private:
  std::int64_t min_partition_;
};

}  // namespace

std::unique_ptr<Planner> make_grid_shard(MapReader& options) {
  return std::make_unique<GridShard>(options.count("min_partition", 128));
}

}  // namespace shardsim
