#include <algorithm>
#include <numeric>

#include "plan/planners/factories.h"
#include "plan/planners/whole_table.h"

namespace shardsim {
namespace {

double table_bytes(const Table& table) {
  return static_cast<double>(table.rows) * static_cast<double>(table.row_bytes());
}

// Largest table first to the rank with the least bytes so far; ties to the earlier table and the lower rank.
class TableWise : public Planner {
 public:
  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    std::vector<std::size_t> order(workload.tables.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return table_bytes(workload.tables[a]) > table_bytes(workload.tables[b]);
    });
    std::vector<double> load(static_cast<std::size_t>(cluster.world_size()), 0.0);
    std::vector<int> owner(workload.tables.size());
    for (const std::size_t t : order) {
      const auto least = std::min_element(load.begin(), load.end());
      *least += table_bytes(workload.tables[t]);
      owner[t] = static_cast<int>(least - load.begin());
    }
    Plan plan;
    plan.hash_seed = context.seed;
    for (std::size_t t = 0; t < owner.size(); ++t) {
      plan.placements.push_back(whole_table(workload, t, Strategy::table_wise, {{owner[t]}}));
    }
    return plan;
  }
};

}  // namespace

std::unique_ptr<Planner> make_table_wise(MapReader& /*options*/) {
  return std::make_unique<TableWise>();
}

}  // namespace shardsim
