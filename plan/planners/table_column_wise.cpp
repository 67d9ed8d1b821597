#include "plan/planners/column_slices.h"
#include "plan/planners/factories.h"
#include "plan/planners/least_loaded.h"
#include "plan/planners/whole_table.h"

namespace shardsim {
namespace {

// A node for each table; its slices are dealt round robin over the node's ranks, on from where the node's last table
// stopped.
class TableColumnWise : public Planner {
 public:
  explicit TableColumnWise(std::int64_t min_partition) : min_partition_(min_partition) {}

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    const std::vector<int> node = least_loaded(workload, cluster.nodes());
    const std::vector<std::vector<int>> ranks = node_groups(cluster);
    std::vector<std::size_t> next(ranks.size(), 0);
    Plan plan;
    plan.hash_seed = context.seed;
    for (std::size_t t = 0; t < node.size(); ++t) {
      const auto home = static_cast<std::size_t>(node[t]);
      for (const ColumnSlice& slice : column_slices(workload.tables[t].dim, min_partition_, cluster.ranks_per_node())) {
        const int rank = ranks[home][next[home]++ % ranks[home].size()];
        plan.placements.push_back(cut_out(whole_table(workload, t, Strategy::table_column_wise, {{rank}}), slice));
      }
    }
    return plan;
  }

 private:
  std::int64_t min_partition_;
};

}  // namespace

std::unique_ptr<Planner> make_table_column_wise(MapReader& options) {
  return std::make_unique<TableColumnWise>(options.count("min_partition", 128));
}

}  // namespace shardsim
