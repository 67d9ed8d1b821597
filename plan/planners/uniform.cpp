// The planners that treat every table alike, whatever the workload does with it: one strategy for all of them.

#include <algorithm>
#include <functional>
#include <numeric>

#include "plan/planners/steps.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMinPartition = 128;  // columns: TorchRec's default (planner/constants.py, MIN_CW_DIM)

double table_bytes(const Table& table) {
  return static_cast<double>(table.rows) * static_cast<double>(table.row_bytes());
}

// Largest table first to the place (a rank, a node) with the least bytes so far; ties to the earlier table and the
// lower place. Returns the place of each table.
std::vector<std::size_t> least_loaded(const Workload& workload, std::size_t places) {
  std::vector<std::size_t> order(workload.tables.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t t) { return table_bytes(workload.tables[t]); });
  std::vector<double> load(places, 0.0);
  std::vector<std::size_t> place(workload.tables.size());
  for (const std::size_t t : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += table_bytes(workload.tables[t]);
    place[t] = static_cast<std::size_t>(least - load.begin());
  }
  return place;
}

// row_wise, data_parallel, flex: every table whole, by the same holders; a node is a replica group of flex.
// table_wise: each table whole on the rank with the least so far; table_row_wise: cut into rows over the ranks of the
// node with the least so far. The others cut every table into column slices, none narrower than the option
// `min_partition`, and deal them round robin, on from where the last table stopped: column_wise over all ranks,
// grid_shard over the nodes, where each is cut into rows, table_column_wise over the ranks of the node with the least
// so far.
class Uniform : public Planner {
 public:
  Uniform(Strategy strategy, MapReader& options)
      : strategy_(strategy), min_partition_(in_columns(strategy) ? options.count("min_partition", kMinPartition) : 0) {}

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    if (strategy_ == Strategy::row_wise || replicated(strategy_)) {
      const auto holders = strategy_ == Strategy::flex ? node_groups(cluster) : world_group(cluster);
      return uniform_plan(workload, strategy_, holders, context.seed);
    }
    Plan plan;
    plan.hash_seed = context.seed;
    const auto places = within_node(strategy_) ? node_groups(cluster) : single_ranks(cluster.world_size());
    const std::vector<std::size_t> home = least_loaded(workload, places.size());
    const std::int64_t together = columns_together(context.host);
    std::vector<std::size_t> dealt(places.size(), 0);  // to each place, or by the first one to all
    for (std::size_t t = 0; t < home.size(); ++t) {
      const bool in_home = strategy_ == Strategy::table_column_wise;
      const std::size_t targets = in_home ? places[home[t]].size() : places.size();
      std::size_t& next = dealt[in_home ? home[t] : 0];
      for (const ColumnSlice& slice : slices_of(workload.tables[t], targets, together)) {
        const std::size_t target = in_columns(strategy_) ? next++ % targets : home[t];
        add_slice(plan, workload, t, strategy_, in_home ? std::vector{places[home[t]][target]} : places[target], slice);
      }
    }
    return plan;
  }

 private:
  static std::vector<std::vector<int>> single_ranks(int world) {
    std::vector<std::vector<int>> ranks;
    for (const int rank : all_ranks(world)) ranks.push_back({rank});
    return ranks;
  }

  std::vector<ColumnSlice> slices_of(const Table& table, std::size_t most, std::int64_t together) const {
    if (!in_columns(strategy_)) return {{0, table.dim}};
    return column_slices(table.dim, min_partition_, static_cast<std::int64_t>(most), together);
  }

  Strategy strategy_;
  std::int64_t min_partition_;
};

}  // namespace

std::unique_ptr<Planner> make_uniform(Strategy strategy, MapReader& options) {
  return std::make_unique<Uniform>(strategy, options);
}

}  // namespace shardsim
