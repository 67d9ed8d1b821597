#include "accuracy/measurements/read/system_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "study/scenario/named_tree.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

constexpr const char* kSystemMapSchema = "shardsim.clusters_map/1";

// "set" edits leaves of the cluster by dotted paths, as in the cases of a scenario.
void apply_overrides(Tree& cluster, const Tree* set) {
  if (set == nullptr) return;
  if (set->kind != Tree::Kind::map) {
    throw input_error(set->place, fmt::format("'set' must be a map, but is {}", kind_name(set->kind)),
                      "Write set: {nics.rate: \"400 Gbit/s\"}");
  }
  for (const auto& [path, value] : set->fields) set_in_named(cluster, path, value, "Name another cluster");
}

MappedSystem mapped_system(const std::string& label, const Tree& tree, const std::string& folder) {
  MappedSystem system;
  system.label = label;
  MapReader reader(tree, label);
  system.cluster = reader.text("cluster");
  Tree cluster = load_named(system.cluster, "clusters", folder, reader.place_of("cluster"));
  apply_overrides(cluster, reader.value("set"));
  system.nodes = static_cast<int>(reader.count("nodes", 0));
  system.gpus_per_node = static_cast<int>(reader.count("gpus_per_node", 0));
  reader.value("cases");  // case_systems reads them
  reader.finish();
  system.spec = read_cluster(cluster);
  return system;
}

// The entry's `cases: {NAME: {PATH: VALUE}}`: what the system is in rows of that case, edited further.
std::vector<MappedSystem> case_systems(const std::string& label, const Tree& tree, const std::string& folder) {
  std::vector<MappedSystem> systems;
  const Tree* const cases = tree.find("cases");
  if (cases == nullptr) return systems;
  if (cases->kind != Tree::Kind::map) {
    throw input_error(cases->place, fmt::format("'cases' must be a map, but is {}", kind_name(cases->kind)),
                      "Write cases: {NAME: {nics.transport: tcp}}");
  }
  for (const auto& [name, edits] : cases->fields) {
    MappedSystem system = mapped_system(label, tree, folder);
    Tree cluster = load_named(system.cluster, "clusters", folder, edits.place);
    apply_overrides(cluster, tree.find("set"));
    apply_overrides(cluster, &edits);
    system.spec = read_cluster(cluster);
    system.setting = name;
    systems.push_back(std::move(system));
  }
  return systems;
}

// `label: NAME` is short for `label: {cluster: NAME}`.
Tree whole_entry(const Tree& stated) {
  if (stated.kind != Tree::Kind::scalar) return stated;
  Tree map = empty_map(stated.place);
  map.fields.emplace_back("cluster", stated);
  return map;
}

int node_count(const Tree& tree) {
  const std::int64_t count = parse_count(scalar_text(tree, "a number of nodes"), tree.place);
  if (count >= 1 && count <= 1'000'000) return static_cast<int>(count);
  throw input_error(tree.place, fmt::format("{} nodes", count), "Write a number from 1 to 1000000");
}

std::vector<int> node_counts(const Tree* tree) {
  std::vector<int> counts;
  if (tree == nullptr) return counts;
  if (tree->kind != Tree::Kind::list) return {node_count(*tree)};
  for (const Tree& item : tree->items) counts.push_back(node_count(item));
  return counts;
}

OutOfModel out_of_model_entry(const Tree& tree) {
  OutOfModel rule;
  MapReader reader(tree, "out_of_model");
  rule.system = reader.text("system", "");
  rule.setting = reader.text("case", "");
  rule.notes = reader.text("notes", "");
  rule.nodes = node_counts(reader.value("nodes"));
  rule.reason = reader.text("reason");
  reader.finish();
  if (rule.system.empty() && rule.setting.empty() && rule.notes.empty() && rule.nodes.empty()) {
    throw input_error(tree.place, "the entry would cover every row", "Name a system, case, nodes or notes");
  }
  return rule;
}

std::vector<std::string> labels(const SystemMap& map) {
  std::vector<std::string> names;
  for (const MappedSystem& system : map.systems) names.push_back(system.label);
  return names;
}

const Error* find_fault(const SystemMap& map, const std::string& label) {
  const auto found = std::ranges::find(map.faulty, as_key(label),
                                       [](const std::pair<std::string, Error>& one) { return as_key(one.first); });
  return found == map.faulty.end() ? nullptr : &found->second;
}

using Labels = std::set<std::string>;  // as keys

void add_system(SystemMap& map, Labels& known, const std::string& label, const Tree& entry, const std::string& folder) {
  if (!known.insert(as_key(label)).second)
    throw input_error(entry.place, "system " + excerpt(label) + " appears twice", "Remove one of the two");
  const Tree whole = whole_entry(entry);
  try {
    std::vector<MappedSystem> systems = {mapped_system(label, whole, folder)};
    std::ranges::move(case_systems(label, whole, folder), std::back_inserter(systems));
    std::ranges::move(systems, std::back_inserter(map.systems));
  } catch (const Error& fault) {
    if (fault.failure() != Failure::input) throw;
    map.faulty.emplace_back(label, fault);
  }
}

void add_systems(SystemMap& map, Labels& known, const Tree& tree, const std::string& folder) {
  if (tree.kind != Tree::Kind::map) {
    throw input_error(tree.place, fmt::format("'systems' must be a map, but is {}", kind_name(tree.kind)),
                      "Write one line LABEL: {cluster: NAME} for each system");
  }
  for (const auto& [label, entry] : tree.fields) add_system(map, known, label, entry, folder);
}

// Labels may also stand at the top, beside the schema, in both forms of an entry.
bool is_entry_at_top(const std::string& key, const Tree& tree) {
  if (key == "schema" || key == "systems" || key == "out_of_model") return false;
  return tree.kind == Tree::Kind::scalar || tree.find("cluster") != nullptr;
}

void check_rules(const SystemMap& map, const Labels& known, const Tree& entries) {
  for (std::size_t i = 0; i < map.out_of_model.size(); ++i) {
    const std::string& label = map.out_of_model[i].system;
    if (label.empty() || known.contains(as_key(label))) continue;
    throw input_error(entries.items[i].place, "unknown system " + excerpt(label), known_names_hint(label, labels(map)));
  }
}

}  // namespace

bool OutOfModel::covers(const MeasuredRow& row) const {
  if (!system.empty() && as_key(system) != as_key(row.system)) return false;
  if (!setting.empty() && setting != row.setting) return false;
  if (!notes.empty() && row.notes.find(notes) == std::string::npos) return false;
  return nodes.empty() || std::ranges::find(nodes, row.nodes) != nodes.end();
}

SystemsByLabel::SystemsByLabel(const SystemMap& map) : map_(map) {
  for (const MappedSystem& system : map.systems) systems_[as_key(system.label)].push_back(&system);
}

const MappedSystem& SystemsByLabel::of(const MeasuredRow& row) const {
  if (const auto found = systems_.find(as_key(row.system)); found != systems_.end()) {
    const std::vector<const MappedSystem*>& systems = found->second;
    const auto own = std::ranges::find_if(systems, [&](const MappedSystem* system) {
      return !system->setting.empty() && system->setting == row.setting;
    });
    return own == systems.end() ? *systems.front() : **own;
  }
  if (const Error* const fault = find_fault(map_, row.system)) throw Error(*fault);
  const std::string near = nearest(row.system, labels(map_));
  throw input_error(row.place, fmt::format("system {} is missing from the map {}", excerpt(row.system), map_.path),
                    near.empty() ? "Add a line LABEL: {cluster: NAME} to the map, or name another map with --clusters"
                                 : fmt::format("Did you mean {}?", excerpt(near)));
}

const MappedSystem& SystemMap::system_of(const MeasuredRow& row) const {
  return SystemsByLabel(*this).of(row);
}

std::string SystemMap::why_out_of_model(const MeasuredRow& row) const {
  const auto found = std::ranges::find_if(out_of_model, [&](const OutOfModel& rule) { return rule.covers(row); });
  return found == out_of_model.end() ? "" : found->reason;
}

SystemMap system_map_from_tree(const Tree& tree, const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  SystemMap map;
  Labels known;
  map.path = path;
  MapReader reader(tree, "");
  reader.choice("schema", {kSystemMapSchema});
  for (const auto& [key, entry] : tree.fields)
    if (is_entry_at_top(key, entry) && reader.has(key)) add_system(map, known, key, entry, folder);
  if ((map.systems.empty() && map.faulty.empty()) || reader.has("systems"))
    add_systems(map, known, reader.required("systems"), folder);
  if (map.systems.empty() && !map.faulty.empty()) throw Error(map.faulty.front().second);
  if (reader.has("out_of_model")) {
    for (const Tree& entry : reader.list("out_of_model")) map.out_of_model.push_back(out_of_model_entry(entry));
    check_rules(map, known, reader.required("out_of_model"));
  }
  reader.finish();
  return map;
}

SystemMap read_system_map(const std::string& path) {
  return system_map_from_tree(read_yaml_file(path), path);
}

namespace {

constexpr const char* kLeftOutFitsSchema = "shardsim.left_out_fits/1";

FittedOverhead row_of(const Tree& tree) {
  MapReader reader(tree, "row");
  FittedOverhead row;
  reader.required("kinds");
  row.kinds = reader.texts("kinds");
  row.across_nodes = reader.choice("reach", {"in_node", "across_nodes"}) == "across_nodes";
  row.network = reader.text("network", "");
  if (reader.has("nics_from")) row.nics_from = reader.rate("nics_from");
  if (reader.has("capability_from")) row.capability_from = capability_number(reader.text("capability_from"));
  if (reader.has("start")) row.start = reader.time("start");
  if (reader.has("per_remote_peer")) row.per_remote_peer = reader.time("per_remote_peer");
  if (reader.has("fill")) row.fill = reader.time("fill");
  if (reader.has("nvls_fill")) row.nvls_fill = reader.time("nvls_fill");
  if (reader.has("latency_share")) row.latency_share = reader.real("latency_share");
  if (reader.has("node_rate")) row.node_rate = reader.rate("node_rate");
  if (reader.has("channel_rate")) row.channel_rate = reader.rate("channel_rate");
  if (reader.has("efficiency")) row.efficiency = reader.efficiency("efficiency", 1);
  if (reader.has("nic_efficiency")) row.nic_efficiency = reader.efficiency("nic_efficiency", 1);
  reader.finish();
  return row;
}

}  // namespace

bool LeftOutFits::saw(const std::string& system) const {
  return std::ranges::find(without, system, &std::pair<std::string, FitTable>::first) != without.end();
}

const FitTable& LeftOutFits::table_for(const std::string& system) const {
  const auto found = std::ranges::find(without, system, &std::pair<std::string, FitTable>::first);
  return found == without.end() ? open_data_fits() : found->second;
}

LeftOutFits left_out_fits_from_tree(const Tree& tree) {
  LeftOutFits fits;
  MapReader reader(tree, "");
  reader.choice("schema", {kLeftOutFitsSchema});
  for (const Tree& entry : reader.list("systems")) {
    MapReader system(entry, "systems");
    const std::string label = system.text("without");
    FitTable table = open_data_fits();
    table.source += ", without " + label;
    for (const Tree& row : system.list("rows")) table.rows.push_back(row_of(row));  // later rows win
    system.finish();
    fits.without.emplace_back(label, std::move(table));
  }
  reader.finish();
  return fits;
}

LeftOutFits shipped_left_out_fits() {
  return left_out_fits_from_tree(
      read_yaml_file((data_folder() / "scenarios" / "measurements" / "left_out_fits.yaml").string()));
}

}  // namespace shardsim
