#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "models/workload/workload.h"
#include "plan/check.h"
#include "plan/constraints.h"
#include "plan/memory_model.h"
#include "topology/graph/cluster.h"

namespace shardsim {
namespace {

constexpr Strategy kTypes[] = {Strategy::table_wise,     Strategy::column_wise,  Strategy::table_column_wise,
                               Strategy::table_row_wise, Strategy::row_wise,     Strategy::grid_shard,
                               Strategy::flex,           Strategy::data_parallel};

// Bytes of device memory that one way to place a table takes, spread as far as it goes.
struct BytesNeeded {
  double fullest = 0;  // on the fullest rank, with nothing else there
  double all = 0;      // on all ranks together
};

std::string text_of(double bytes) {
  return to_text(Bytes{static_cast<std::int64_t>(std::min(bytes, 0x1.0p62))});
}

// Device memory that the ways to place one table take at least.
class TableNeeds {
 public:
  TableNeeds(std::size_t index, const TableConstraint* constraint, const Workload& workload, const Cluster& cluster,
             const MemoryModel& memory)
      : index_(index),
        table_(workload.tables[index]),
        constraint_(constraint),
        workload_(workload),
        cluster_(cluster),
        memory_(memory) {}

  const Table& table() const { return table_; }

  bool allows(Strategy type) const {
    if (constraint_ == nullptr) return true;
    const std::vector<Strategy> types = constraint_->types_of(table_.kind);
    return types.empty() || std::ranges::find(types, type) != types.end();
  }

  // Bytes with the allowed kernel that needs least; with the usual one where none is named.
  BytesNeeded of(Strategy type) const {
    std::vector<std::string> kernels = {default_kernel(type)};
    if (constraint_ != nullptr && !constraint_->compute_kernels.empty() && !replicated(type)) {
      kernels = constraint_->compute_kernels;
    }
    BytesNeeded least{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    for (const std::string& kernel : kernels) {
      const BytesNeeded here = with_kernel(type, kernel);
      least = {std::min(least.fullest, here.fullest), std::min(least.all, here.all)};
    }
    return least;
  }

  // Over the allowed types, or over all.
  BytesNeeded least(bool allowed) const {
    BytesNeeded least{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
    for (const Strategy type : kTypes) {
      if (allowed && !allows(type)) continue;
      const BytesNeeded here = of(type);
      least = {std::min(least.fullest, here.fullest), std::min(least.all, here.all)};
    }
    return least;
  }

  // The first type that is not allowed and that takes at most `bytes` on a rank; none where there is none.
  const Strategy* change(double bytes) const {
    const auto helps = [&](Strategy type) { return !allows(type) && of(type).fullest <= bytes; };
    const auto found = std::ranges::find_if(kTypes, helps);
    return found == std::end(kTypes) ? nullptr : found;
  }

 private:
  std::int64_t narrowest() const {
    const std::int64_t least = constraint_ == nullptr ? 1 : constraint_->min_partition.value_or(1);
    return std::min(least, table_.dim);
  }

  std::vector<std::vector<int>> holders(Strategy type) const {
    const int world = cluster_.world_size(), node = cluster_.ranks_per_node();
    if (type == Strategy::row_wise || type == Strategy::data_parallel) return {all_ranks(world)};
    if (type == Strategy::table_row_wise || type == Strategy::grid_shard) return {all_ranks(node)};
    if (type != Strategy::flex) return {{0}};
    std::vector<std::vector<int>> groups(static_cast<std::size_t>(cluster_.nodes()));
    for (int rank = 0; rank < world; ++rank) groups[static_cast<std::size_t>(cluster_.node_of(rank))].push_back(rank);
    return groups;
  }

  // The number of ranks or nodes that the slices of a table are dealt to.
  int places(Strategy type) const {
    if (type == Strategy::column_wise) return cluster_.world_size();
    return type == Strategy::grid_shard ? cluster_.nodes() : cluster_.ranks_per_node();
  }

  BytesNeeded with_kernel(Strategy type, const std::string& kernel) const {
    Placement part = whole_table(static_cast<int>(index_), table_, type, holders(type));
    part.compute_kernel = kernel;
    if (constraint_ != nullptr) constraint_->caches.put(part);
    std::int64_t slices = 1;
    if (in_columns(type)) {
      slices = std::min<std::int64_t>(std::max<std::int64_t>(table_.dim / narrowest(), 1), places(type));
      part.column_end = table_.dim / slices;  // the narrowest of them, so that the bound holds
    }
    BytesNeeded need;
    for (const PlacementMemory& memory : memory_.on_ranks(part, workload_, cluster_)) {
      const double bytes = memory.static_bytes + memory.dynamic_bytes;
      need.fullest = std::max(need.fullest, bytes);
      need.all += memory.static_bytes * static_cast<double>(slices);
    }
    return need;
  }

  std::size_t index_;
  const Table& table_;
  const TableConstraint* constraint_;
  const Workload& workload_;
  const Cluster& cluster_;
  const MemoryModel& memory_;
};

std::string allowed_text(const TableNeeds& needs) {
  std::vector<std::string> names;
  for (const Strategy type : kTypes) {
    if (needs.allows(type)) names.emplace_back(strategy_name(type));
  }
  return join(names, " or ");
}

void refuse_table(const TableNeeds& needs, double bytes, double capacity, const Place& place) {
  const Strategy* const change = needs.change(capacity);
  throw Error(
      Failure::infeasible, place,
      fmt::format("no plan meets the constraints: table '{}' needs at least {} on a rank, {} over its {}, as {}",
                  needs.table().name, text_of(bytes), text_of(bytes - capacity), text_of(capacity),
                  allowed_text(needs)),
      change == nullptr ? "Allow a kernel that keeps its rows in host memory (fused_uvm), or take more memory"
                        : fmt::format("The smallest change that helps: allow {}, which takes {} on a rank",
                                      strategy_name(*change), text_of(needs.of(*change).fullest)));
}

// Refuses tables that are too many for all ranks together.
void check_sum(const std::vector<TableNeeds>& tables, double room) {
  double sum = 0;
  std::vector<std::pair<std::string, double>> saved;
  for (const TableNeeds& needs : tables) {
    const double here = needs.least(true).all, free = needs.least(false).all;
    sum += here;
    if (here > free) saved.emplace_back(needs.table().name, here - free);
  }
  if (sum <= room || saved.empty()) return;
  const std::string largest = largest_tables_text(saved);
  throw Error(
      Failure::infeasible, Place{},
      fmt::format("no plan meets the constraints: the tables need at least {} on all ranks together, {} over their {}",
                  text_of(sum), text_of(sum - room), text_of(room)),
      fmt::format("Allow other sharding_types for the tables where that saves most: {}", largest));
}

}  // namespace

void check_constraints_fit(const Constraints& constraints, const Workload& workload, const Cluster& cluster,
                           const MemoryModel& memory) {
  if (constraints.by_table.empty()) return;
  const auto capacity = static_cast<double>(cluster.memory_per_rank().count);
  std::vector<TableNeeds> tables;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const TableConstraint* const constraint =
        workload.tables[index].sharded ? constraints.of(workload.tables[index].name) : nullptr;
    const TableNeeds& needs = tables.emplace_back(index, constraint, workload, cluster, memory);
    if (constraint == nullptr) continue;
    const double bytes = needs.least(true).fullest;
    if (bytes > capacity) refuse_table(needs, bytes, capacity, constraint->place);
  }
  check_sum(tables, capacity * cluster.world_size());
}

}  // namespace shardsim
