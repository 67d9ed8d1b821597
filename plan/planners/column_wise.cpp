#include "plan/planners/column_slices.h"
#include "plan/planners/factories.h"
#include "plan/planners/whole_table.h"

namespace shardsim {
namespace {

// At most as many slices as there are ranks, dealt round robin; the next table goes on where the last one stopped.
class ColumnWise : public Planner {
 public:
  explicit ColumnWise(std::int64_t min_partition) : min_partition_(min_partition) {}

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    Plan plan;
    plan.hash_seed = context.seed;
    int rank = 0;
    for (std::size_t t = 0; t < workload.tables.size(); ++t) {
      for (const ColumnSlice& slice : column_slices(workload.tables[t].dim, min_partition_, cluster.world_size())) {
        plan.placements.push_back(cut_out(whole_table(workload, t, Strategy::column_wise, {{rank}}), slice));
        rank = (rank + 1) % cluster.world_size();
      }
    }
    return plan;
  }

 private:
  std::int64_t min_partition_;
};

}  // namespace

std::unique_ptr<Planner> make_column_wise(MapReader& options) {
  return std::make_unique<ColumnWise>(options.count("min_partition", 128));
}

}  // namespace shardsim
