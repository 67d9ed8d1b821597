#include "plan/search/table_choice.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include "base/text.h"
#include "plan/column_shards/piece_kinds.h"
#include "plan/plan_file.h"
#include "plan/sharding_groups.h"
#include "plan/torchrec_types.h"

namespace shardsim::search {
namespace {

constexpr std::int64_t kColumns = 4;  // slices are multiples of so many columns, as kernels read them

// Those that can be lowered, and of them what rows that are not replicated may have.
bool is_simulated(const std::string& kernel) {
  return kernel == "fused" || kernel == "fused_uvm" || kernel == "fused_uvm_caching" || in_key_value_store(kernel);
}

bool on_one_rank(Strategy strategy) {
  return strategy == Strategy::table_wise || strategy == Strategy::column_wise ||
         strategy == Strategy::table_column_wise;
}

bool on_one_node(Strategy strategy) {
  return strategy == Strategy::table_row_wise || strategy == Strategy::grid_shard;
}

std::vector<int> ranks_on(const Cluster& cluster, int node) {
  std::vector<int> ranks(static_cast<std::size_t>(cluster.ranks_per_node()));
  std::iota(ranks.begin(), ranks.end(), node * cluster.ranks_per_node());
  return ranks;
}

}  // namespace

Shift Piece::shift(int per_node) const {
  if (given != nullptr) return {};
  if (on_one_rank(strategy)) return {place, place / per_node};
  return on_one_node(strategy) ? Shift{place * per_node, place} : Shift{};
}

bool moves_alone(const Piece& piece) {
  return piece.given == nullptr && on_one_rank(piece.strategy);
}

TableChoices::TableChoices(const Workload& workload, const Cluster& cluster, const PlannerContext& context)
    : workload_(workload),
      cluster_(cluster),
      context_(context),
      modules_(workload.modules_apart ? module_paths(workload) : std::vector<std::string>(workload.tables.size())),
      rules_(workload.tables.size()),
      tiers_(workload.tables.size()) {
  find_classes();
  for (std::size_t t = 0; t < workload.tables.size(); ++t) {
    read_rules(t, context.constraints ? context.constraints->of(workload.tables[t].name) : nullptr);
  }
}

void TableChoices::find_classes() {
  std::vector<Table> classes;
  for (std::size_t index = 0; index < workload_.tables.size(); ++index) {
    Table nameless = without_names(workload_.tables[index]);
    nameless.module = modules_[index];
    const auto found = std::ranges::find(classes, nameless);
    class_of_.push_back(static_cast<int>(found - classes.begin()));
    if (found == classes.end()) classes.push_back(nameless);
  }
}

int TableChoices::kernel_index(const std::string& name) {
  const auto found = std::ranges::find(kernels_, name);
  if (found != kernels_.end()) return static_cast<int>(found - kernels_.begin());
  kernels_.push_back(name);
  return static_cast<int>(kernels_.size()) - 1;
}

void TableChoices::read_rules(std::size_t index, const TableConstraint* constraint) {
  const Table& table = workload_.tables[index];
  Rules& rules = rules_[index];
  using enum Strategy;
  rules.strategies = {data_parallel, row_wise, column_wise, table_wise};
  if (cluster_.nodes() > 1) {
    rules.strategies.insert(rules.strategies.end(), {table_column_wise, table_row_wise, grid_shard});
  }
  std::vector<std::string> kernels = {"fused"};
  rules.min_partition = kColumns;
  if (constraint != nullptr) {
    const std::vector<Strategy> types = constraint->types_of(table.kind);
    if (!constraint->sharding_types.empty()) {  // in the order of ours: naming all of them changes nothing
      rules.strategies.clear();
      std::ranges::copy_if(std::vector{data_parallel, row_wise, column_wise, table_wise, table_column_wise,
                                       table_row_wise, grid_shard, flex},
                           std::back_inserter(rules.strategies),
                           [&](Strategy each) { return std::ranges::find(types, each) != types.end(); });
    }
    if (constraint->torchrec_only) {
      std::erase_if(rules.strategies, [&](Strategy each) { return std::ranges::find(types, each) == types.end(); });
    }
    if (!constraint->compute_kernels.empty()) kernels = constraint->compute_kernels;
    rules.min_partition = constraint->min_partition.value_or(kColumns);
    rules.caches = constraint->caches;
    if (rules.caches != CacheSizes{}) class_of_[index] = -1 - static_cast<int>(index);  // like no other
    // Replicated rows have the kernel dense.
    const bool dense = std::ranges::find(kernels, "dense") != kernels.end() || constraint->compute_kernels.empty();
    if (!dense) std::erase_if(rules.strategies, [](Strategy strategy) { return replicated(strategy); });
  }
  for (const std::string& kernel : kernels) {
    if (is_simulated(kernel)) rules.kernels.push_back(kernel_index(kernel));
  }
  if (rules.kernels.empty()) std::erase_if(rules.strategies, [](Strategy each) { return !replicated(each); });
  leave_out_refused(index);
  if (!rules.strategies.empty()) return;
  throw input_error(
      constraint != nullptr ? constraint->place : table.place,
      "the constraints do not allow the planner search any way to place table '" + table.name + "'",
      "Allow compute kernels fused, fused_uvm, fused_uvm_caching or one of key-value stores, or dense for "
      "data_parallel and flex");
}

bool TableChoices::refused(const Placement& placement) const {
  if (workload_.sharding_groups && refused_in_groups(placement, workload_)) return true;
  const Table& table = workload_.tables[static_cast<std::size_t>(placement.table)];
  if (!may_be_refused(table, workload_)) return false;
  const Kind kind{class_of_[static_cast<std::size_t>(placement.table)], placement.strategy, on_host(placement) ? 1 : 0,
                  placement.columns(), placement.rows() < table.rows};
  const auto [entry, added] = refused_.try_emplace(kind, false);
  if (added) entry->second = is_refused(placement, workload_, context_);
  return entry->second;
}

bool TableChoices::can_slice(std::size_t table, Strategy strategy, int kernel, std::int64_t columns) const {
  Piece piece;
  piece.strategy = strategy;
  piece.kernel = kernel;
  piece.column_end = columns;
  return !refused(placement_of(table, piece));
}

// Types that the simulation refuses whatever their columns are cut to.
void TableChoices::leave_out_refused(std::size_t table) {
  Rules& rules = rules_[table];
  const std::int64_t dim = workload_.tables[table].dim;
  std::erase_if(rules.kernels, [&](int kernel) {
    const bool kept = std::ranges::any_of(rules.strategies, [&](Strategy strategy) {
      return !replicated(strategy) && can_slice(table, strategy, kernel, dim);
    });
    return !kept;
  });
  std::erase_if(rules.strategies, [&](Strategy strategy) {
    if (replicated(strategy)) return !can_slice(table, strategy, 0, dim);
    return std::ranges::none_of(rules.kernels, [&](int kernel) { return can_slice(table, strategy, kernel, dim); });
  });
}

bool TableChoices::allowed(const Placement& placement) const {
  if (refused(placement)) return false;
  const Table& table = workload_.tables[static_cast<std::size_t>(placement.table)];
  const TableConstraint* const constraint = context_.constraints ? context_.constraints->of(table.name) : nullptr;
  if (constraint == nullptr) return true;
  if (!constraint->allows_tiers() && is_tier(placement, table)) return false;
  if (constraint->torchrec_only && !partial_rows(placement, row_ranks(workload_, cluster_.spec())).empty())
    return false;
  const auto lists = [](const auto& list, const auto& what) {
    return list.empty() || std::ranges::find(list, what) != list.end();
  };
  const bool narrow =
      in_columns(placement.strategy) && constraint->min_partition && placement.columns() < *constraint->min_partition;
  return lists(constraint->types_of(table.kind), placement.strategy) &&
         lists(constraint->compute_kernels, placement.compute_kernel) && !narrow;
}

bool TableChoices::allows(const Plan& plan) const {
  return std::ranges::all_of(plan.placements, [&](const Placement& placement) { return allowed(placement); });
}

Placement TableChoices::placement_of(std::size_t table, const Piece& piece) const {
  if (piece.given != nullptr) {
    Placement placement = *piece.given;
    placement.table = static_cast<int>(table);
    return placement;
  }
  std::vector<std::vector<int>> holders = {all_ranks(cluster_.world_size())};
  if (on_one_rank(piece.strategy)) holders = {{piece.place}};
  if (on_one_node(piece.strategy)) holders = {ranks_on(cluster_, piece.place)};
  if (piece.strategy == Strategy::flex) {
    holders.clear();
    for (int node = 0; node < cluster_.nodes(); ++node) holders.push_back(ranks_on(cluster_, node));
  }
  Placement placement =
      whole_table(static_cast<int>(table), workload_.tables[table], piece.strategy, std::move(holders));
  placement.column_begin = piece.column_begin;
  placement.column_end = piece.column_end;
  if (replicated(piece.strategy)) return placement;
  placement.compute_kernel = kernels_[static_cast<std::size_t>(piece.kernel)];
  rules_[table].caches.put(placement);
  return placement;
}

namespace {

// Two placements of the same OperationKind get the same operations, of other sizes: it says how the table's vectors
// travel, whose exchanges it shares and how its ids are treated (sim/lower/fusion_group.h).
struct OperationKind {
  TableKind kind;
  Dtype dtype;
  std::string pooling, module;
  std::optional<WireDtype> forward, backward;
  bool weighted, own_batch, deduplicates;
  Strategy strategy;
  std::string kernel;
  bool tier;
  bool operator==(const OperationKind&) const = default;
};

}  // namespace

// One of each kind of operation, of the table that is asked for most ids: what has none moves nothing.
Plan TableChoices::every_kind(const std::vector<Plan>& plans) const {
  std::vector<std::pair<OperationKind, Placement>> met;
  const auto offer = [&](const Placement& placement) {
    const auto index = static_cast<std::size_t>(placement.table);
    const Table& table = workload_.tables[index];
    const OperationKind kind{table.kind,
                             table.dtype,
                             table.pooling,
                             modules_[index],
                             table.wire_forward,
                             table.wire_backward,
                             std::ranges::any_of(table.features, &Feature::weighted),
                             varies_batch(table, workload_.batch_per_gpu),
                             table.index_dedup,
                             placement.strategy,
                             placement.compute_kernel,
                             placement.rows() < table.rows};
    const auto found = std::ranges::find(met, kind, &std::pair<OperationKind, Placement>::first);
    if (found == met.end()) {
      met.emplace_back(kind, placement);
    } else if (workload_.tables[static_cast<std::size_t>(found->second.table)].average_length < table.average_length) {
      found->second = placement;
    }
  };
  for (std::size_t t = 0; t < workload_.tables.size(); ++t) {
    for (const Strategy strategy : rules_[t].strategies) {
      std::vector<int> kernels = rules_[t].kernels;
      if (replicated(strategy)) kernels = {0};
      for (const int kernel : kernels) {
        Piece piece;
        piece.strategy = strategy;
        piece.kernel = kernel;
        piece.column_end = workload_.tables[t].dim;
        offer(placement_of(t, piece));
      }
    }
  }
  for (const Plan& plan : plans) {
    for (const Placement& placement : plan.placements) offer(placement);
  }
  Plan all;
  for (const auto& [kind, placement] : met) all.placements.push_back(placement);
  std::ranges::stable_sort(all.placements, {}, &Placement::table);
  return all;
}

PieceLoad TableChoices::load_of(const Placement& placement) const {
  PieceLoad load;
  load.shares = cost_->shares_of(context_.host.load_of(placement));
  const std::vector<PlacementMemory> memory = context_.memory.on_ranks(placement, workload_, cluster_);
  const auto bytes = [&](std::size_t rank) { return memory[rank].static_bytes + memory[rank].dynamic_bytes; };
  load.memory_all = bytes(memory.size() - 1);
  std::map<int, double> host;
  for (std::size_t rank = 0; rank < memory.size(); ++rank) {
    const double more = bytes(rank) - load.memory_all;
    if (more != 0) load.memory.emplace_back(static_cast<int>(rank), more);
    if (memory[rank].host_bytes > 0) host[cluster_.node_of(static_cast<int>(rank))] += memory[rank].host_bytes;
  }
  load.host.assign(host.begin(), host.end());
  return load;
}

Piece TableChoices::piece(std::size_t table, Strategy strategy, int kernel, int place, std::int64_t begin,
                          std::int64_t end) {
  Piece piece;
  piece.strategy = strategy;
  piece.kernel = kernel;
  piece.place = place;
  piece.column_begin = begin;
  piece.column_end = end;
  const auto [entry, added] =
      known_.try_emplace(Kind{class_of_[table], strategy, replicated(strategy) ? -1 : kernel, end - begin, begin == 0});
  if (added) {
    Piece at_home = piece;
    at_home.place = 0;
    entry->second = load_of(placement_of(table, at_home));
  }
  piece.load = &entry->second;
  return piece;
}

// Pieces that the search could make itself are taken as such.
std::vector<Choice> TableChoices::of_plan(const Plan& plan) {
  std::vector<Choice> choices(workload_.tables.size());
  for (const Placement& placement : plan.placements) {
    const auto table = static_cast<std::size_t>(placement.table);
    const int first = placement.holders.front().front();
    const int place = on_one_rank(placement.strategy)   ? first
                      : on_one_node(placement.strategy) ? cluster_.node_of(first)
                                                        : 0;
    const auto kernel = std::ranges::find(kernels_, placement.compute_kernel);
    const int number = kernel == kernels_.end() ? 0 : static_cast<int>(kernel - kernels_.begin());
    Piece own;
    own.strategy = placement.strategy;
    own.kernel = number;
    own.place = place;
    own.column_begin = placement.column_begin;
    own.column_end = placement.column_end;
    if (placement_of(table, own) == placement) {
      choices[table].push_back(
          piece(table, placement.strategy, number, place, placement.column_begin, placement.column_end));
      continue;
    }
    given_.push_back(placement);
    given_loads_.push_back(load_of(placement));
    own.given = &given_.back();
    own.load = &given_loads_.back();
    choices[table].push_back(own);
  }
  return choices;
}

void TableChoices::remember_tiers(const std::vector<Choice>& choices) {
  constexpr std::size_t kMostWays = 6;  // of a table: each is tried wherever the table is
  for (std::size_t table = 0; table < choices.size(); ++table) {
    const auto placements = [&](const Choice& choice) {
      std::vector<Placement> each;
      for (const Piece& piece : choice) each.push_back(placement_of(table, piece));
      return each;
    };
    const Choice& choice = choices[table];
    const bool tiers = std::ranges::any_of(choice, [&](const Piece& piece) {
      return piece.given != nullptr && piece.given->rows() < workload_.tables[table].rows;
    });
    const bool known = std::ranges::any_of(
        tiers_[table], [&](const Choice& other) { return placements(other) == placements(choice); });
    if (tiers && !known && tiers_[table].size() < kMostWays) tiers_[table].push_back(choice);
  }
}

Plan TableChoices::plan_of(const std::vector<Choice>& choices, std::uint64_t seed) const {
  Plan plan;
  plan.hash_seed = seed;
  for (std::size_t t = 0; t < choices.size(); ++t) {
    for (const Piece& piece : choices[t]) plan.placements.push_back(placement_of(t, piece));
  }
  std::ranges::stable_sort(plan.placements, {}, [](const Placement& placement) {
    return std::tuple(placement.table, placement.row_begin, placement.column_begin);
  });
  return plan;
}

}  // namespace shardsim::search
