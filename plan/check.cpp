#include "plan/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/coverage.h"

namespace shardsim {
namespace {

void check_extent(const Placement& placement, const Workload& workload, const Place& place) {
  if (placement.table < 0 || static_cast<std::size_t>(placement.table) >= workload.tables.size()) {
    throw input_error(place, fmt::format("the plan names table number {}", placement.table),
                      fmt::format("The workload has {}", workload.tables.size()));
  }
  const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
  if (placement.row_begin >= placement.row_end || placement.row_end > table.rows) {
    throw input_error(place,
                      fmt::format("table '{}': rows {} to {}", table.name, placement.row_begin, placement.row_end),
                      fmt::format("Row intervals rise, are not empty and end at {} at most", table.rows));
  }
  if (placement.column_begin < 0 || placement.column_begin >= placement.column_end ||
      placement.column_end > table.dim) {
    throw input_error(
        place, fmt::format("table '{}': columns {} to {}", table.name, placement.column_begin, placement.column_end),
        fmt::format("Column intervals rise, are not empty and end at {} at most", table.dim));
  }
}

void check_group_shapes(const Placement& placement, const std::string& name, const Place& place) {
  const std::string what = fmt::format("table '{}', {}", name, strategy_name(placement.strategy));
  if (placement.holders.empty() || placement.holders.front().empty()) {
    throw input_error(place, what + ": no rank holds it", "Name the ranks");
  }
  if (placement.strategy != Strategy::flex && placement.holders.size() != 1) {
    throw input_error(place, what + ": several lists of ranks", "Only flex has replica groups");
  }
  const bool whole = !in_rows(placement.strategy) && !replicated(placement.strategy);
  if (whole && placement.holders.front().size() != 1) {
    throw input_error(place, what + fmt::format(": {} ranks", placement.holders.front().size()), "It lies on one rank");
  }
  for (const std::vector<int>& group : placement.holders) {
    if (group.size() == placement.holders.front().size()) continue;
    throw input_error(
        place,
        what + fmt::format(": replica groups of {} and {} ranks", placement.holders.front().size(), group.size()),
        "Give all replica groups the same length");
  }
}

void check_ranks(const Placement& placement, const std::string& name, int world_size, const Place& place) {
  const auto refuse = [&](int rank, const char* wrong, const std::string& remedy) {
    const std::string what = fmt::format("table '{}', {}: rank {}", name, strategy_name(placement.strategy), rank);
    throw input_error(place, what + wrong, remedy);
  };
  std::vector<bool> seen(static_cast<std::size_t>(world_size), false);
  for (const std::vector<int>& group : placement.holders) {
    for (const int rank : group) {
      if (rank < 0 || rank >= world_size) {
        refuse(rank, " is outside the world", fmt::format("Ranks go from 0 to {}", world_size - 1));
      }
      if (seen[static_cast<std::size_t>(rank)]) refuse(rank, " is named twice", "Name each rank once");
      seen[static_cast<std::size_t>(rank)] = true;
    }
  }
}

bool of_one_node(Strategy strategy) {
  return strategy == Strategy::table_row_wise || strategy == Strategy::grid_shard;
}

// A cluster of one GPU a node stands for one that is not known.
void check_node(const Placement& placement, const std::string& name, const Cluster& cluster, const Place& place) {
  if (!of_one_node(placement.strategy) || cluster.ranks_per_node() == 1) return;
  const std::vector<int>& ranks = placement.holders.front();
  const int node = cluster.node_of(ranks.front());
  const bool one = std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return cluster.node_of(rank) == node; });
  if (one && static_cast<int>(ranks.size()) == cluster.ranks_per_node()) return;
  throw input_error(place,
                    fmt::format("table '{}', {}: its row shards lie on {} ranks{}", name,
                                strategy_name(placement.strategy), ranks.size(), one ? "" : " of several nodes"),
                    fmt::format("Name the {} ranks of one node", cluster.ranks_per_node()));
}

// Every rank looks replicated rows up in its own copy, so every rank needs one. In a plan that is checked without its
// cluster the world is what the plan names.
void check_replicas(const Placement& placement, const std::string& name, int world_size, const Place& place) {
  if (placement.strategy != Strategy::data_parallel && placement.strategy != Strategy::flex) return;
  std::size_t reached = 0;
  for (const auto& group : placement.holders) reached += group.size();
  if (reached == static_cast<std::size_t>(world_size)) return;
  throw input_error(place,
                    fmt::format("table '{}' has replicated rows ({}) on {} of {} ranks", name,
                                strategy_name(placement.strategy), reached, world_size),
                    fmt::format("Name all {} ranks as holders", world_size));
}

struct TableBytes {
  double bytes = 0;
  int table = 0;
};

// "a (39.4 GiB), b (1.2 GiB)": the three largest tables of a rank.
std::string largest_tables(int rank, const Plan& plan, const Workload& workload, const Cluster& cluster,
                           const MemoryModel& model) {
  std::vector<TableBytes> tables(workload.tables.size());
  for (std::size_t t = 0; t < tables.size(); ++t) tables[t].table = static_cast<int>(t);
  for (const Placement& placement : plan.placements) {
    const PlacementMemory memory = model.on_rank(placement, rank, workload, cluster);
    tables[static_cast<std::size_t>(placement.table)].bytes += memory.static_bytes + memory.dynamic_bytes;
  }
  std::stable_sort(tables.begin(), tables.end(),
                   [](const TableBytes& a, const TableBytes& b) { return a.bytes > b.bytes; });
  tables.resize(std::min<std::size_t>(tables.size(), 3));
  std::vector<std::string> texts;
  for (const TableBytes& entry : tables) {
    const Bytes bytes{static_cast<std::int64_t>(std::min(entry.bytes, 0x1.0p62))};
    texts.push_back(workload.tables[static_cast<std::size_t>(entry.table)].name + " (" + to_text(bytes) + ")");
  }
  return join(texts);
}

}  // namespace

void check_plan(const Plan& plan, const Workload& workload, const Cluster& cluster, const Place& place) {
  if (cluster.nodes() > 1 && !cluster.spec().nics) {
    throw input_error(place, fmt::format("the cluster has {} nodes and no NICs", cluster.nodes()),
                      "Add nics to the cluster, or use one node");
  }
  std::vector<std::vector<const Placement*>> by_table(workload.tables.size());
  for (const Placement& placement : plan.placements) {
    check_extent(placement, workload, place);
    const auto table = static_cast<std::size_t>(placement.table);
    check_group_shapes(placement, workload.tables[table].name, place);
    check_ranks(placement, workload.tables[table].name, cluster.world_size(), place);
    check_replicas(placement, workload.tables[table].name, cluster.world_size(), place);
    check_node(placement, workload.tables[table].name, cluster, place);
    by_table[table].push_back(&placement);
  }
  for (std::size_t t = 0; t < by_table.size(); ++t) {
    const std::string fault = coverage_fault(by_table[t], workload.tables[t]);
    if (!fault.empty()) throw input_error(place, fault, "Place every row and column exactly once");
  }
}

void check_memory(const Plan& plan, const Workload& workload, const Cluster& cluster, const MemoryModel& model) {
  const std::vector<std::int64_t> bytes = memory_per_rank(plan, workload, cluster, model);
  const auto fullest = std::max_element(bytes.begin(), bytes.end());
  const std::int64_t capacity = cluster.memory_per_rank().count;
  if (fullest == bytes.end() || *fullest <= capacity) return;
  const int rank = static_cast<int>(fullest - bytes.begin());
  const std::string wrong = fmt::format("the plan does not fit in memory: rank {} needs {}, {} bytes ({}) over its {}",
                                        rank, to_text(Bytes{*fullest}), *fullest - capacity,
                                        to_text(Bytes{*fullest - capacity}), to_text(Bytes{capacity}));
  throw Error(Failure::infeasible, Place{}, wrong,
              "Largest tables there: " + largest_tables(rank, plan, workload, cluster, model) +
                  ". Spread them over more ranks, replicate less, or take GPUs with more memory");
}

}  // namespace shardsim
