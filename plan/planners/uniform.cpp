// The planners that treat every table alike, whatever the workload does with it: one strategy for all of them.

#include <algorithm>
#include <numeric>

#include "plan/planners/factories.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMinPartition = 128;  // columns: TorchRec's default (planner/constants.py, MIN_CW_DIM)

Plan empty_plan(const PlannerContext& context) {
  Plan plan;
  plan.hash_seed = context.seed;
  return plan;
}

double table_bytes(const Table& table) {
  return static_cast<double>(table.rows) * static_cast<double>(table.row_bytes());
}

// Largest table first to the place (a rank, a node) with the least bytes so far; ties to the earlier table and the
// lower place. Returns the place of each table.
std::vector<std::size_t> least_loaded(const Workload& workload, int places) {
  std::vector<std::size_t> order(workload.tables.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return table_bytes(workload.tables[a]) > table_bytes(workload.tables[b]);
  });
  std::vector<double> load(static_cast<std::size_t>(places), 0.0);
  std::vector<std::size_t> place(workload.tables.size());
  for (const std::size_t t : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += table_bytes(workload.tables[t]);
    place[t] = static_cast<std::size_t>(least - load.begin());
  }
  return place;
}

// row_wise, data_parallel, flex: every table whole, by the same holders.
class SameHolders : public Planner {
 public:
  explicit SameHolders(Strategy strategy) : strategy_(strategy) {}

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    // A node is a replica group of flex.
    const auto holders = strategy_ == Strategy::flex ? node_groups(cluster) : world_group(cluster);
    return uniform_plan(workload, strategy_, holders, context.seed);
  }

 private:
  Strategy strategy_;
};

// table_wise: each table whole on the rank with the least so far; table_row_wise: cut into rows over the ranks of the
// node with the least so far.
class LeastLoaded : public Planner {
 public:
  explicit LeastLoaded(Strategy strategy) : strategy_(strategy) {}

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    const bool rank = strategy_ == Strategy::table_wise;
    const auto nodes = node_groups(cluster);
    const std::vector<std::size_t> place = least_loaded(workload, rank ? cluster.world_size() : cluster.nodes());
    Plan plan = empty_plan(context);
    for (std::size_t t = 0; t < place.size(); ++t) {
      const std::vector<int> holders = rank ? std::vector<int>{static_cast<int>(place[t])} : nodes[place[t]];
      plan.placements.push_back(whole_table(static_cast<int>(t), workload.tables[t], strategy_, {holders}));
    }
    return plan;
  }

 private:
  Strategy strategy_;
};

// The three that cut every table into column slices, none narrower than the option `min_partition`.
class Slices : public Planner {
 public:
  explicit Slices(MapReader& options) : min_partition_(options.count("min_partition", kMinPartition)) {}

 protected:
  std::vector<ColumnSlice> slices_of(const Table& table, int most) const {
    return column_slices(table.dim, min_partition_, most);
  }

 private:
  std::int64_t min_partition_;
};

// At most as many slices as there are ranks, dealt round robin; the next table goes on where the last one stopped.
class ColumnWise : public Slices {
 public:
  using Slices::Slices;

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    Plan plan = empty_plan(context);
    int rank = 0;
    for (std::size_t t = 0; t < workload.tables.size(); ++t) {
      for (const ColumnSlice& slice : slices_of(workload.tables[t], cluster.world_size())) {
        add_slice(plan, workload, t, Strategy::column_wise, {rank}, slice);
        rank = (rank + 1) % cluster.world_size();
      }
    }
    return plan;
  }
};

// A node for each table; its slices are dealt round robin over the node's ranks, on from where the node's last table
// stopped.
class TableColumnWise : public Slices {
 public:
  using Slices::Slices;

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    const std::vector<std::size_t> node = least_loaded(workload, cluster.nodes());
    const std::vector<std::vector<int>> ranks = node_groups(cluster);
    std::vector<std::size_t> next(ranks.size(), 0);
    Plan plan = empty_plan(context);
    for (std::size_t t = 0; t < node.size(); ++t) {
      const std::vector<int>& home = ranks[node[t]];
      for (const ColumnSlice& slice : slices_of(workload.tables[t], cluster.ranks_per_node())) {
        add_slice(plan, workload, t, Strategy::table_column_wise, {home[next[node[t]]++ % home.size()]}, slice);
      }
    }
    return plan;
  }
};

// Column slices, at most one per node, each cut into rows over the ranks of a node; the slices are dealt round robin
// over the nodes, on from where the last table stopped.
class GridShard : public Slices {
 public:
  using Slices::Slices;

  Plan plan(const Workload& workload, const Cluster& cluster, const PlannerContext& context) const override {
    const std::vector<std::vector<int>> ranks = node_groups(cluster);
    std::size_t next = 0;
    Plan plan = empty_plan(context);
    for (std::size_t t = 0; t < workload.tables.size(); ++t) {
      for (const ColumnSlice& slice : slices_of(workload.tables[t], cluster.nodes())) {
        add_slice(plan, workload, t, Strategy::grid_shard, ranks[next++ % ranks.size()], slice);
      }
    }
    return plan;
  }
};

}  // namespace

std::vector<std::vector<int>> world_group(const Cluster& cluster) {
  return {all_ranks(cluster.world_size())};
}

std::vector<std::vector<int>> node_groups(const Cluster& cluster) {
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(cluster.nodes()));
  for (int rank = 0; rank < cluster.world_size(); ++rank) {
    groups[static_cast<std::size_t>(cluster.node_of(rank))].push_back(rank);
  }
  return groups;
}

Plan uniform_plan(const Workload& workload, Strategy strategy, const std::vector<std::vector<int>>& holders,
                  std::uint64_t seed) {
  Plan plan;
  plan.hash_seed = seed;
  for (std::size_t t = 0; t < workload.tables.size(); ++t) {
    plan.placements.push_back(whole_table(static_cast<int>(t), workload.tables[t], strategy, holders));
  }
  return plan;
}

std::vector<ColumnSlice> column_slices(std::int64_t dim, std::int64_t min_partition, std::int64_t most) {
  const std::int64_t count = std::clamp<std::int64_t>(dim / min_partition, 1, most);
  std::vector<ColumnSlice> slices;
  std::int64_t begin = 0;
  for (std::int64_t slice = 0; slice < count; ++slice) {
    const std::int64_t end = begin + dim / count + (slice < dim % count ? 1 : 0);
    slices.push_back({begin, end});
    begin = end;
  }
  return slices;
}

void add_slice(Plan& plan, const Workload& workload, std::size_t index, Strategy strategy, std::vector<int> holders,
               const ColumnSlice& slice) {
  Placement placement = whole_table(static_cast<int>(index), workload.tables[index], strategy, {std::move(holders)});
  placement.column_begin = slice.begin;
  placement.column_end = slice.end;
  plan.placements.push_back(std::move(placement));
}

std::unique_ptr<Planner> make_column_wise(MapReader& options) {
  return std::make_unique<ColumnWise>(options);
}

std::unique_ptr<Planner> make_data_parallel(MapReader& /*options*/) {
  return std::make_unique<SameHolders>(Strategy::data_parallel);
}

std::unique_ptr<Planner> make_flex(MapReader& /*options*/) {
  return std::make_unique<SameHolders>(Strategy::flex);
}

std::unique_ptr<Planner> make_grid_shard(MapReader& options) {
  return std::make_unique<GridShard>(options);
}

std::unique_ptr<Planner> make_row_wise(MapReader& /*options*/) {
  return std::make_unique<SameHolders>(Strategy::row_wise);
}

std::unique_ptr<Planner> make_table_column_wise(MapReader& options) {
  return std::make_unique<TableColumnWise>(options);
}

std::unique_ptr<Planner> make_table_row_wise(MapReader& /*options*/) {
  return std::make_unique<LeastLoaded>(Strategy::table_row_wise);
}

std::unique_ptr<Planner> make_table_wise(MapReader& /*options*/) {
  return std::make_unique<LeastLoaded>(Strategy::table_wise);
}

}  // namespace shardsim
