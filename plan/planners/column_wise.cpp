#include <algorithm>

#include "plan/planners/factories.h"
#include "plan/planners/whole_table.h"

namespace shardsim {
namespace {

// As many slices as there are ranks, but none narrower than min_partition (and at least one), dealt round robin; the
// next table goes on where the last one stopped. The first dim mod slices slices are one column wider.
class ColumnWise : public Planner {
 public:
  explicit ColumnWise(std::int64_t min_partition) : min_partition_(min_partition) {}

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    Plan plan;
    plan.hash_seed = context.seed;
    int rank = 0;
    for (std::size_t t = 0; t < workload.tables.size(); ++t) {
      const std::int64_t dim = workload.tables[t].dim;
      const std::int64_t slices = std::clamp<std::int64_t>(dim / min_partition_, 1, cluster.world_size());
      std::int64_t begin = 0;
      for (std::int64_t slice = 0; slice < slices; ++slice) {
        Placement placement = whole_table(workload, t, Strategy::column_wise, {{rank}});
        placement.column_begin = begin;
        placement.column_end = begin += dim / slices + (slice < dim % slices ? 1 : 0);
        plan.placements.push_back(placement);
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
