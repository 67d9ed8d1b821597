#include "plan/constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "base/tree/map_reader.h"
#include "models/workload/workload.h"
#include "models/workload/workload_notes.h"
#include "plan/torchrec_types.h"

namespace shardsim {
namespace {

double read_load_factor(MapReader& reader, const std::vector<std::string>& kernels) {
  const double factor = reader.get("cache_load_factor", share_leaf(Bounds::above(0).to(1), kWithoutCache));
  if (kernels.empty() || std::ranges::any_of(kernels, has_cache)) return factor;
  throw input_error(reader.place_of("cache_load_factor"),
                    "'cache_load_factor' has no effect here: compute_kernels names no kernel with a cache",
                    "Leave it out, or allow fused_uvm_caching");
}

// A size of a cache of key-value stores; a rank has one only with a kernel that is named.
std::optional<Bytes> read_store_cache(MapReader& reader, const char* key, const std::vector<std::string>& kernels) {
  if (!reader.has(key)) return std::nullopt;
  const Bytes size = reader.bytes(key);
  if (size.count == 0)
    throw input_error(reader.place_of(key), fmt::format("'{}' is 0 B", key),
                      "State a size above 0, or leave it out: without max_l1_cache_size the load factor decides, and "
                      "without l2_cache_size no rows are kept in host memory");
  if (std::ranges::any_of(kernels, in_key_value_store)) return size;
  throw input_error(reader.place_of(key),
                    fmt::format("'{}' has no effect here: compute_kernels names no kernel of a key-value store", key),
                    "Leave it out, or allow key_value");
}

// `of_all`: what those of "*" say of torchrec_only.
TableConstraint read_constraint(MapReader reader, bool of_all) {
  TableConstraint constraint;
  constraint.place = reader.tree().place;
  for (const std::string& type : reader.words("sharding_types", strategy_names(), "strategy"))
    constraint.sharding_types.push_back(parse_strategy(type, constraint.place));
  constraint.compute_kernels = reader.words("compute_kernels", compute_kernels(), "compute kernel");
  if (reader.has("min_partition")) constraint.min_partition = reader.count("min_partition");
  if (reader.has("cache_load_factor")) {
    constraint.caches.load_factor = read_load_factor(reader, constraint.compute_kernels);
  }
  constraint.caches.max_l1 = read_store_cache(reader, "max_l1_cache_size", constraint.compute_kernels);
  constraint.caches.l2 = read_store_cache(reader, "l2_cache_size", constraint.compute_kernels);
  if (reader.has("device_group")) constraint.device_group = reader.choice("device_group", {"cpu", "cuda"});
  if (reader.has("row_tiers")) constraint.row_tiers = reader.flag("row_tiers", true);
  constraint.torchrec_only = reader.flag("torchrec_only", of_all);
  reader.finish();
  return constraint;
}

std::string types_text(const std::vector<Strategy>& types) {
  std::vector<std::string> names;
  for (const Strategy type : types) names.emplace_back(strategy_name(type));
  return join(names, " or ");
}

// Says how a table's placements break its constraint; "" where they keep it.
class Keeper {
 public:
  Keeper(const TableConstraint& constraint, const Table& table, const RowRanks& ranks)
      : constraint_(constraint), table_(table), ranks_(ranks) {}

  std::string fault(const Placement& placement) {
    const bool tier = is_tier(placement, table_);
    if (constraint_.torchrec_only && tier) return "is cut into tiers of rows, which TorchRec does not have";
    const std::string partial = partial_rows(placement, ranks_);
    if (constraint_.torchrec_only && !partial.empty())
      return fmt::format("is {}, and TorchRec's modules need a shard of it on each", partial);
    if (constraint_.torchrec_only && is_beyond_torchrec(placement, table_, ranks_)) {
      return fmt::format("is {}, and TorchRec's modules of {} tables have only {}", strategy_name(placement.strategy),
                         kind_name(table_.kind), types_text(torchrec_types(table_.kind)));
    }
    const auto& types = constraint_.sharding_types;
    if (!types.empty() && std::ranges::find(types, placement.strategy) == types.end()) {
      return fmt::format("is {}, where sharding_types allow {}", strategy_name(placement.strategy), types_text(types));
    }
    if (!constraint_.allows_tiers() && tier) {
      return "is cut into tiers of rows, which TorchRec does not have and row_tiers does not allow";
    }
    const auto& kernels = constraint_.compute_kernels;
    if (!kernels.empty() && std::ranges::find(kernels, placement.compute_kernel) == kernels.end()) {
      return fmt::format("has the kernel {}, where compute_kernels allow {}", placement.compute_kernel,
                         join(kernels, " or "));
    }
    const auto& factor = constraint_.caches.load_factor;
    if (factor && has_cache(placement.compute_kernel) && placement.cache_load_factor != *factor) {
      return fmt::format("has a cache for {} of its rows, where cache_load_factor is {}",
                         shortest(placement.cache_load_factor), shortest(*factor));
    }
    const std::string store = other_store(placement);
    return store.empty() ? narrow_slice(placement) : store;
  }

 private:
  std::string other_store(const Placement& placement) const {
    if (!in_key_value_store(placement.compute_kernel)) return "";
    const auto differs = [](const std::optional<Bytes>& wanted, const std::optional<Bytes>& there, const char* key) {
      if (!wanted || wanted == there) return std::string();
      return fmt::format("has a {} of {}, where the constraint is {}", key, there ? to_text(*there) : "no size",
                         to_text(*wanted));
    };
    const std::string first = differs(constraint_.caches.max_l1, placement.most_l1, "max_l1_cache_size");
    return first.empty() ? differs(constraint_.caches.l2, placement.l2, "l2_cache_size") : first;
  }

  std::string narrow_slice(const Placement& placement) {
    const auto& least = constraint_.min_partition;
    if (!least || placement.columns() >= std::min(*least, table_.dim) || narrow_++ == 0) return "";
    return fmt::format("has slices of {} columns, where min_partition is {}", placement.columns(), *least);
  }

  const TableConstraint& constraint_;
  const Table& table_;
  RowRanks ranks_;
  int narrow_ = 0;  // slices so far
};

}  // namespace

bool TableConstraint::allows_tiers() const {
  if (torchrec_only) return false;
  return row_tiers.value_or(sharding_types.empty() ||
                            std::ranges::find(sharding_types, Strategy::flex) != sharding_types.end());
}

void CacheSizes::put(Placement& placement) const {
  if (!has_cache(placement.compute_kernel)) return;
  placement.cache_load_factor = load_factor.value_or(placement.cache_load_factor);
  if (!in_key_value_store(placement.compute_kernel)) return;
  if (max_l1) placement.most_l1 = max_l1;
  placement.l2 = l2.value_or(placement.l2);
}

std::vector<Strategy> TableConstraint::types_of(TableKind kind) const {
  if (!torchrec_only) return sharding_types;
  std::vector<Strategy> types = torchrec_types(kind);
  if (sharding_types.empty()) return types;
  std::erase_if(types, [&](Strategy type) { return std::ranges::find(sharding_types, type) == sharding_types.end(); });
  return types;
}

namespace {

bool is_torchrec_only(const Tree* of_all) {
  return of_all != nullptr && of_all->kind == Tree::Kind::map && of_all->find("torchrec_only") != nullptr &&
         MapReader(*of_all, "constraints.*").flag("torchrec_only", false);
}

}  // namespace

Constraints read_constraints(const Tree& map) {
  note_part(map, "constraints");
  note_form(map, stated_map());
  if (map.kind != Tree::Kind::map) {
    throw input_error(map.place, fmt::format("'constraints' must be a map, but is {}", kind_name(map.kind)),
                      "Write TABLE: {sharding_types: [...], ...}, or \"*\" for all that are not named");
  }
  Constraints constraints;
  const bool torchrec_only = is_torchrec_only(map.find("*"));
  for (const auto& [name, tree] : map.fields) {
    if (tree.kind != Tree::Kind::map) {
      throw input_error(tree.place, fmt::format("constraints of {}: not a map", excerpt(name)),
                        "Write {sharding_types: [...], ...}");
    }
    constraints.by_table[name] = read_constraint({tree, "constraints." + name}, torchrec_only);
  }
  return constraints;
}

namespace {

void check_torchrec_types(const Constraints& constraints, const Workload& workload) {
  for (const Table& table : workload.tables) {
    const TableConstraint* const constraint = constraints.of(table.name);
    if (constraint == nullptr || !constraint->torchrec_only || !constraint->types_of(table.kind).empty()) continue;
    throw input_error(
        constraint->place,
        fmt::format("constraints of {} allow only {}, which TorchRec does not have for a {} table", excerpt(table.name),
                    types_text(constraint->sharding_types), kind_name(table.kind)),
        fmt::format("Allow one of {}, or leave torchrec_only out", types_text(torchrec_types(table.kind))));
  }
}

// What to write in place of a name that no table has.
std::string remedy_of_unknown(const std::string& name, const std::vector<std::string>& names) {
  const auto with_hyphens = std::ranges::find(names, name, as_key);
  if (with_hyphens != names.end())
    return fmt::format("Write \"{}\" in quotes: without them, '-' of a key is read as '_'", *with_hyphens);
  const std::string likely = nearest(name, names);
  return likely.empty() ? "Name a table of the workload, or \"*\" for all that are not named"
                        : fmt::format("Did you mean '{}'?", likely);
}

}  // namespace

void check_constraint_names(const Constraints& constraints, const Workload& workload, const std::string& device) {
  check_torchrec_types(constraints, workload);
  std::vector<std::string> names = {"*"};
  for (const Table& table : workload.tables) names.push_back(table.name);
  const std::unordered_set<std::string> known(names.begin(), names.end());
  for (const auto& [name, constraint] : constraints.by_table) {
    if (!known.contains(name)) {
      throw input_error(constraint.place, fmt::format("constraints: the workload has no table {}", excerpt(name)),
                        remedy_of_unknown(name, names));
    }
    const auto found = std::ranges::find(workload.tables, name, &Table::name);
    if (found != workload.tables.end() && !found->sharded)
      throw input_error(
          constraint.place,
          fmt::format("constraints of {}: the table is not sharded, so no planner places it", excerpt(name)),
          "Leave them out, or leave 'sharded: false' out of the workload");
    if (constraint.device_group.empty() || constraint.device_group == device) continue;
    throw input_error(constraint.place,
                      fmt::format("constraints of {}: device group {}, and the cluster's devices are {}", excerpt(name),
                                  constraint.device_group, device),
                      "Leave device_group out; host memory is compute_kernels: [fused_uvm]");
  }
}

void check_constraints(const Plan& plan, const Workload& workload, const Constraints& constraints,
                       const RowRanks& ranks, const std::string& made_by) {
  std::map<int, Keeper> keepers;  // by table
  for (const Placement& placement : plan.placements) {
    const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
    const TableConstraint* const constraint = constraints.of(table.name);
    if (constraint == nullptr || !table.sharded) continue;
    Keeper& keeper = keepers.try_emplace(placement.table, *constraint, table, ranks).first->second;
    const std::string fault = keeper.fault(placement);
    if (fault.empty()) continue;
    throw input_error(
        constraint->place, fmt::format("{} violates the constraints: table '{}' {}", made_by, table.name, fault),
        "Change the plan or the constraints, or take a planner that follows constraints, such as torchrec or search");
  }
}

}  // namespace shardsim
