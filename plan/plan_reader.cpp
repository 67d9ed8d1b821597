#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "base/tree/json.h"
#include "plan/check.h"
#include "plan/plan_entries.h"
#include "plan/plan_file.h"
#include "plan/unsharded_tables.h"

namespace shardsim {
namespace {

constexpr std::string_view kPlanSchema = "shardsim.plan/1";

std::vector<std::string> sharding_types() {
  std::vector<std::string> types = strategy_names();
  types.insert(std::ranges::find(types, "row_wise"), "row_tiers");
  return types;
}

std::vector<Placement> read_entry(const PlanEntry& entry, std::optional<std::uint64_t>& seed) {
  required_map(entry.tree, fmt::format("the entry of table '{}'", entry.table.name));
  note_part(entry.tree, "sharding", sharding_types(), "sharding_type");
  const Tree& type = required_field(entry.tree, "sharding_type");
  const std::string& name = scalar_text(type, "a sharding type");
  if (name == "row_tiers" || name == "flex") return read_tiered_entry(entry, seed);
  const std::vector<std::string> strategies = strategy_names();
  if (std::ranges::find(strategies, name) == strategies.end()) {
    throw input_error(type.place, fmt::format("sharding type {} is not known here", excerpt(name)),
                      known_names_hint(name, sharding_types()));
  }
  return read_torchrec_entry(entry, parse_strategy(name, type.place));
}

void check_schema(const Tree& tree) {
  note_part(tree, "plan", {std::string(kPlanSchema)}, "schema");
  const Tree* schema = tree.find("schema");
  if (schema == nullptr) return;  // TorchRec writes none, and what else it writes is its business
  const std::string& text = scalar_text(*schema, "\"shardsim.plan/1\"");
  if (text != kPlanSchema) {
    throw input_error(schema->place, fmt::format("schema {} is no plan of ours", excerpt(text)),
                      fmt::format("Write \"{}\"", kPlanSchema));
  }
  const std::vector<std::string> known = {"hash", "plan", "schema"};
  for (const std::string& key : known) note_key(tree, key);
  note_closed(tree, known);
  for (const auto& [key, value] : tree.fields) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw input_error(value.place, fmt::format("unknown key {}", excerpt(key)), known_names_hint(key, known));
  }
}

// Tables of the workload by name, each to be met once.
class TableFinder {
 public:
  explicit TableFinder(const Workload& workload) {
    for (const Table& table : workload.tables) {
      numbers_[table.name] = static_cast<int>(names_.size());
      names_.push_back(table.name);
    }
  }

  // In a file a table may have the name that it has in its module, where the workload calls it MODULE.TABLE.
  int take(const std::string& module, const std::string& name, const Place& place) {
    auto found = numbers_.find(name);
    if (found == numbers_.end()) found = numbers_.find(module + "." + name);
    if (found == numbers_.end()) {
      throw input_error(place, fmt::format("the workload has no table {}", excerpt(name)), hint(name));
    }
    if (!seen_.insert(found->second).second) {
      throw input_error(place, fmt::format("table {} is in two modules", excerpt(name)), "Keep one of them");
    }
    return found->second;
  }

 private:
  std::string hint(const std::string& name) const {
    constexpr std::size_t kShown = 20;  // names in a message
    if (names_.size() <= kShown) return known_names_hint(name, names_);
    const std::string likely = nearest(name, names_);
    return fmt::format("The workload has {} tables{}", names_.size(),
                       likely.empty() ? "" : fmt::format("; did you mean '{}'?", likely));
  }

  std::map<std::string, int> numbers_;
  std::vector<std::string> names_;
  std::set<int> seen_;
};

bool by_table_and_place(const Placement& a, const Placement& b) {
  return std::tie(a.table, a.row_begin, a.column_begin) < std::tie(b.table, b.row_begin, b.column_begin);
}

}  // namespace

const Tree& required_field(const Tree& map, std::string_view key) {
  note_key(map, key, {}, Need::required_plain);
  if (const Tree* found = map.find(key)) return *found;
  throw input_error(map.place, fmt::format("the key '{}' is missing", key), fmt::format("Add \"{}\"", key));
}

const Tree& required_map(const Tree& tree, std::string_view what) {
  note_form(tree, {Form::Kind::map});
  if (tree.kind == Tree::Kind::map) return tree;
  throw input_error(tree.place, fmt::format("{} must be a map, but is {}", what, kind_name(tree.kind)),
                    "Write a map, {...}");
}

const std::vector<Tree>& required_list(const Tree& tree, std::string_view what) {
  note_form(tree, {Form::Kind::list});
  if (tree.kind == Tree::Kind::list) return tree.items;
  throw input_error(tree.place, fmt::format("{} must be a list, but is {}", what, kind_name(tree.kind)),
                    "Write a list, [...]");
}

std::int64_t read_whole_number(const Tree& tree) {
  if (tree.quoted) throw input_error(tree.place, "a text where a whole number is due", "Leave the quotes out");
  return count_leaf()(tree);
}

NumberPair read_number_pair(const Tree& tree, std::string_view what) {
  const std::vector<Tree>& items = required_list(tree, what);
  if (items.size() == 2) return {read_whole_number(items[0]), read_whole_number(items[1])};
  throw input_error(tree.place, fmt::format("{} has {} numbers", what, items.size()), "Write two, [A, B]");
}

Plan plan_from_tree(const Tree& tree, const Workload& workload, const Cluster& cluster, std::vector<Place>* places) {
  required_map(tree, "a plan file");
  check_schema(tree);
  std::optional<std::uint64_t> seed;
  if (const Tree* hash = tree.find("hash")) read_hash({*hash, "hash"}, seed);
  TableFinder tables(workload);
  const bool cpus = cluster.spec().device == "cpu";
  Plan plan;
  if (places != nullptr) places->assign(workload.tables.size(), Place{});
  const std::vector<std::string> usual = module_paths(workload);
  for (const auto& [module, entries] : required_map(required_field(tree, "plan"), "'plan'").fields) {
    for (const auto& [name, entry] : required_map(entries, fmt::format("module {}", excerpt(module))).fields) {
      const int index = tables.take(module, name, entry.place);
      const Table& table = workload.tables[static_cast<std::size_t>(index)];
      if (!table.sharded)
        throw input_error(entry.place, fmt::format("table {} is not sharded, and the plan has it", excerpt(name)),
                          "Leave it out of the plan, or leave 'sharded: false' out of the workload");
      if (places != nullptr) (*places)[static_cast<std::size_t>(index)] = entry.place;
      if (module != usual[static_cast<std::size_t>(index)]) plan.modules[index] = module;
      const PlanEntry stated{entry, index, table, cluster.world_size(), cluster.ranks_per_node(), cpus};
      std::vector<Placement> placements = read_entry(stated, seed);
      if (!has_cache(placements.front().compute_kernel) && states_cache(stated)) plan.idle_caches.push_back(index);
      std::ranges::move(placements, std::back_inserter(plan.placements));
    }
  }
  plan.hash_seed = seed.value_or(Plan{}.hash_seed);
  add_unsharded(plan, workload, cluster.world_size());
  std::stable_sort(plan.placements.begin(), plan.placements.end(), by_table_and_place);
  return plan;
}

Plan checked_plan(const Tree& tree, const Workload& workload, const Cluster& cluster, bool nodes_known,
                  std::vector<Place>* places) {
  std::vector<Place> own;
  if (places == nullptr) places = &own;
  Plan plan = plan_from_tree(tree, workload, cluster, places);
  check_plan(plan, workload, cluster, {tree.place.source}, nodes_known, *places);
  return plan;
}

Plan read_plan_file(const std::string& path, const Workload& workload, const Cluster& cluster) {
  return checked_plan(read_json_file(path), workload, cluster);
}

}  // namespace shardsim
