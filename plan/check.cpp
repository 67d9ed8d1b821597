#include "plan/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "plan/plan.h"
#include "plan/row_stores.h"
#include "plan/sharding_groups.h"

namespace shardsim {
namespace {

// One placement with what it has to fit.
struct Checked {
  const Placement& placement;
  const Table& table;
  int world_size;
  const Place& place;

  [[noreturn]] void refuse(const std::string& wrong, const std::string& remedy) const {
    throw input_error(place, fmt::format("table '{}'{}", table.name, wrong), remedy);
  }
  [[noreturn]] void refuse_holders(const std::string& wrong, const std::string& remedy) const {
    refuse(fmt::format(", {}: {}", strategy_name(placement.strategy), wrong), remedy);
  }
};

void check_extent(const Checked& of) {
  const auto& [row_begin, row_end] = std::tie(of.placement.row_begin, of.placement.row_end);
  if (row_begin >= row_end || row_end > of.table.rows) {
    of.refuse(fmt::format(": rows {} to {}", row_begin, row_end),
              fmt::format("An interval of rows must not be empty and must end at {} or before", of.table.rows));
  }
  const auto& [begin, end] = std::tie(of.placement.column_begin, of.placement.column_end);
  if (begin < 0 || begin >= end || end > of.table.dim) {
    of.refuse(fmt::format(": columns {} to {}", begin, end),
              fmt::format("An interval of columns must not be empty and must end at {} or before", of.table.dim));
  }
}

void check_group_shapes(const Checked& of) {
  const Strategy strategy = of.placement.strategy;
  const std::vector<std::vector<int>>& groups = of.placement.holders;
  if (groups.empty() || groups.front().empty()) of.refuse_holders("no rank holds it", "Name the ranks");
  if (strategy != Strategy::flex && groups.size() != 1) {
    of.refuse_holders("several lists of ranks",
                      "Only flex has replica groups, and a plan of sharding groups holds for these alone");
  }
  if (!in_rows(strategy) && !replicated(strategy) && groups.front().size() != 1) {
    of.refuse_holders(fmt::format("{} ranks", groups.front().size()), "It lies on one rank");
  }
  for (const std::vector<int>& group : groups) {
    if (group.size() == groups.front().size()) continue;
    of.refuse_holders(fmt::format("replica groups of {} and {} ranks", groups.front().size(), group.size()),
                      "Give all replica groups the same length");
  }
}

// Every rank looks replicated rows up in its own copy, so every rank needs one. In a plan that is checked without its
// cluster the world is what the plan names.
void check_ranks(const Checked& of) {
  std::vector<bool> seen(static_cast<std::size_t>(of.world_size), false);
  std::size_t reached = 0;
  for (const std::vector<int>& group : of.placement.holders) {
    reached += group.size();
    for (const int rank : group) {
      if (rank < 0 || rank >= of.world_size) {
        of.refuse_holders(fmt::format("rank {} is outside the world", rank),
                          fmt::format("Ranks go from 0 to {}", of.world_size - 1));
      }
      if (seen[static_cast<std::size_t>(rank)]) {
        of.refuse_holders(fmt::format("rank {} is named twice", rank), "Name each rank once");
      }
      seen[static_cast<std::size_t>(rank)] = true;
    }
  }
  if (!replicated(of.placement.strategy) || reached == seen.size()) return;
  of.refuse(fmt::format(" has replicated rows ({}) on {} of {} ranks", strategy_name(of.placement.strategy), reached,
                        of.world_size),
            fmt::format("Name all {} ranks as holders", of.world_size));
}

void check_kernel(const Checked& of) {
  const std::vector<std::string> known = compute_kernels();
  const std::string& kernel = of.placement.compute_kernel;
  if (std::ranges::find(known, kernel) == known.end()) {
    of.refuse(": unknown compute kernel " + excerpt(kernel), known_names_hint(kernel, known));
  }
}

void check_sharded(const Checked& of) {
  if (of.table.sharded || of.placement.strategy == Strategy::data_parallel) return;
  of.refuse_holders("it is not sharded", "Leave it out of the plan, or leave 'sharded: false' out of the workload");
}

// Ranks of table_row_wise and of a block of grid_shard lie on one node; table_column_wise keeps all blocks of a table
// on one.
void check_nodes(const std::vector<const Placement*>& placements, const std::string& name, const Cluster& cluster,
                 const Place& place) {
  int table_node = -1;
  for (const Placement* placement : placements) {
    if (!within_node(placement->strategy)) continue;
    int node = placement->strategy == Strategy::table_column_wise ? table_node : -1;
    for (const int rank : placement->holders.front()) {
      if (node < 0) node = cluster.node_of(rank);
      if (cluster.node_of(rank) == node) continue;
      throw input_error(place,
                        fmt::format("table '{}', {}: rank {} is on node {}, others are on node {}", name,
                                    strategy_name(placement->strategy), rank, cluster.node_of(rank), node),
                        fmt::format("Keep {} on one node: ranks {} to {}",
                                    placement->strategy == Strategy::grid_shard ? "each block of columns" : "the table",
                                    node * cluster.ranks_per_node(), (node + 1) * cluster.ranks_per_node() - 1));
    }
    table_node = node;
  }
}

Bytes whole(double bytes) {
  return {static_cast<std::int64_t>(std::min(bytes, 0x1.0p62))};
}

// Bytes of each table as `of` counts a placement; the largest as a message names them.
template <typename Of>
std::string largest_tables(const Plan& plan, const Workload& workload, Of of) {
  std::vector<std::pair<std::string, double>> tables;
  for (const Table& table : workload.tables) tables.emplace_back(table.name, 0.0);
  for (const Placement& placement : plan.placements) {
    tables[static_cast<std::size_t>(placement.table)].second += of(placement);
  }
  std::erase_if(tables, [](const auto& table) { return table.second <= 0; });
  return "Largest tables there: " + (tables.empty() ? "none" : largest_tables_text(std::move(tables)));
}

// Bytes that a placement takes of the host memory of each node.
std::vector<double> on_nodes(const Placement& placement, const Workload& workload, const Cluster& cluster,
                             const MemoryModel& model) {
  std::vector<double> bytes(static_cast<std::size_t>(cluster.nodes()), 0.0);
  if (!on_host(placement)) return bytes;
  const std::vector<PlacementMemory> memory = model.on_ranks(placement, workload, cluster);
  for (int rank = 0; rank < cluster.world_size(); ++rank) {
    bytes[static_cast<std::size_t>(cluster.node_of(rank))] += memory[static_cast<std::size_t>(rank)].host_bytes;
  }
  return bytes;
}

// [node] Sums of numbers that are given by rank.
std::vector<double> of_nodes(const std::vector<double>& of_ranks, const Cluster& cluster) {
  std::vector<double> sums(static_cast<std::size_t>(cluster.nodes()), 0.0);
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
    sums[static_cast<std::size_t>(cluster.node_of(static_cast<int>(rank)))] += of_ranks[rank];
  return sums;
}

// [node] Bytes that caches of key-value stores take there.
std::vector<double> caches_of_nodes(const Plan& plan, const Workload& workload, const Cluster& cluster) {
  return of_nodes(host_cache_bytes(plan, workload, cluster.world_size()), cluster);
}

std::string caches_text(const Plan& plan, const Workload& workload, const Cluster& cluster, std::size_t node) {
  const double caches = caches_of_nodes(plan, workload, cluster)[node];
  if (caches <= 0) return "";
  return fmt::format(". Caches of key-value stores (l2_cache_size) take {}", to_text(whole(caches)));
}

void check_host_memory(const Plan& plan, const Workload& workload, const Cluster& cluster, const MemoryModel& model) {
  const std::optional<Bytes> capacity = cluster.spec().host.memory;
  if (!capacity) return;
  const std::vector<double> sums = host_memory_of_nodes(plan, workload, cluster, model);
  const auto fullest = static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
  if (sums[fullest] <= static_cast<double>(capacity->count)) return;
  const Bytes needed = whole(sums[fullest]);
  throw Error(Failure::infeasible, Place{},
              fmt::format("the plan does not fit in host memory: node {} needs {}, {} over its {}", fullest,
                          to_text(needed), to_text(needed - *capacity), to_text(*capacity)),
              largest_tables(
                  plan, workload,
                  [&](const Placement& placement) { return on_nodes(placement, workload, cluster, model)[fullest]; }) +
                  caches_text(plan, workload, cluster, fullest) +
                  ". Spread them over more nodes, keep some in the GPUs' memory, or take nodes with more memory");
}

void check_ssd(const Plan& plan, const Workload& workload, const Cluster& cluster) {
  const std::optional<SsdSpec>& ssd = cluster.spec().host.ssd;
  if (!ssd || !ssd->capacity) return;
  const std::vector<double> sums = ssd_bytes_of_nodes(plan, workload, cluster);
  const auto fullest = static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
  if (sums[fullest] <= static_cast<double>(ssd->capacity->count)) return;
  const Bytes needed = whole(sums[fullest]);
  throw Error(
      Failure::infeasible, Place{},
      fmt::format("the plan does not fit on SSDs: node {} needs {}, {} over its {}", fullest, to_text(needed),
                  to_text(needed - *ssd->capacity), to_text(*ssd->capacity)),
      "Spread the tables of key_value over more nodes, keep some in memory, or state a larger host.ssd.capacity");
}

const Place& place_of(std::size_t table, const std::vector<Place>& tables, const Place& plan) {
  return table < tables.size() && !tables[table].source.empty() ? tables[table] : plan;
}

}  // namespace

void check_plan(const Plan& plan, const Workload& workload, const Cluster& cluster, const Place& place,
                bool nodes_known, const std::vector<Place>& tables) {
  if (const auto groups = GroupedWorld::of(workload, cluster)) {
    if (groups->has(plan))
      return check_plan(groups->of_group(plan), workload, groups->cluster(), place, nodes_known, tables);
    throw input_error(
        place, fmt::format("the plan is not one of {} sharding groups of {} ranks", groups->groups(), groups->size()),
        "A plan holds for the sharding groups that it was made for: make one for these");
  }
  if (cluster.nodes() > 1 && !cluster.spec().nics) {
    throw input_error(place, fmt::format("the cluster has {} nodes and no NICs", cluster.nodes()),
                      "Add nics to the cluster, or use one node");
  }
  std::vector<std::vector<const Placement*>> by_table(workload.tables.size());
  for (const Placement& placement : plan.placements) {
    const auto table = static_cast<std::size_t>(placement.table);
    if (table >= workload.tables.size()) {
      throw input_error(place, fmt::format("the plan names table number {}", placement.table),
                        fmt::format("The workload has {}", workload.tables.size()));
    }
    const Checked of{placement, workload.tables[table], cluster.world_size(), place_of(table, tables, place)};
    check_extent(of);
    check_group_shapes(of);
    check_ranks(of);
    check_kernel(of);
    check_sharded(of);
    by_table[table].push_back(&placement);
  }
  for (std::size_t t = 0; t < by_table.size(); ++t) {
    const Place& here = place_of(t, tables, place);
    if (nodes_known) check_nodes(by_table[t], workload.tables[t].name, cluster, here);
    const std::string fault = coverage_fault(by_table[t], workload.tables[t]);
    if (!fault.empty()) throw input_error(here, fault, "Place every row and column exactly once");
  }
}

std::vector<double> host_memory_of_nodes(const Plan& plan, const Workload& workload, const Cluster& cluster,
                                         const MemoryModel& model) {
  std::vector<double> sums(static_cast<std::size_t>(cluster.nodes()), 0.0);
  for (const Placement& placement : plan.placements) {
    if (!on_host(placement)) continue;
    std::ranges::transform(sums, on_nodes(placement, workload, cluster, model), sums.begin(), std::plus());
  }
  if (std::ranges::any_of(plan.placements,
                          [](const Placement& each) { return row_store_of(each) != RowStore::none; })) {
    std::ranges::transform(sums, caches_of_nodes(plan, workload, cluster), sums.begin(), std::plus());
  }
  return sums;
}

std::vector<double> ssd_bytes_of_nodes(const Plan& plan, const Workload& workload, const Cluster& cluster) {
  return of_nodes(bytes_on_ssd(plan, workload, cluster.world_size()), cluster);
}

std::string largest_tables_text(std::vector<std::pair<std::string, double>> tables) {
  std::ranges::stable_sort(tables, [](const auto& a, const auto& b) { return a.second > b.second; });
  tables.resize(std::min<std::size_t>(tables.size(), 3));
  std::vector<std::string> texts;
  for (const auto& [name, bytes] : tables) texts.push_back(name + " (" + to_text(whole(bytes)) + ")");
  return join(texts);
}

// A plan of replicated tables may be refused that fits by another count, and the sizes of its tables do not show why.
std::string how_replicas_count(const Plan& plan, const MemoryModel& model) {
  const bool any = std::ranges::any_of(plan.placements, replicated, &Placement::strategy);
  const double factor = model.replicated_row_factor();
  if (!any || factor == 1) return "";
  return fmt::format(
      ". The memory model counts a replicated row {} times, for its gradient and optimizer states "
      "(dp_static_multiplier); memory_model 'torchrec' counts as TorchRec does",
      shortest(factor));
}

void check_memory(const Plan& plan, const Workload& workload, const Cluster& cluster, const MemoryModel& model) {
  const std::vector<std::int64_t> bytes = memory_per_rank(plan, workload, cluster, model);
  const auto fullest = std::max_element(bytes.begin(), bytes.end());
  const std::int64_t capacity = cluster.memory_per_rank().count;
  if (fullest == bytes.end()) return;
  if (*fullest <= capacity) {
    check_ssd(plan, workload, cluster);
    return check_host_memory(plan, workload, cluster, model);
  }
  const int rank = static_cast<int>(fullest - bytes.begin());
  const std::string wrong = fmt::format("the plan does not fit in memory: rank {} needs {}, {} bytes ({}) over its {}",
                                        rank, to_text(Bytes{*fullest}), *fullest - capacity,
                                        to_text(Bytes{*fullest - capacity}), to_text(Bytes{capacity}));
  const auto on_fullest = [&](const Placement& placement) {
    const PlacementMemory memory = model.on_rank(placement, rank, workload, cluster);
    return memory.static_bytes + memory.dynamic_bytes;
  };
  throw Error(Failure::infeasible, Place{}, wrong,
              largest_tables(plan, workload, on_fullest) +
                  ". Spread them over more ranks, replicate less, or take GPUs with more memory" +
                  how_replicas_count(plan, model));
}

}  // namespace shardsim
