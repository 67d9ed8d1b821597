#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "base/units.h"
#include "plan/plan_entries.h"
#include "study/import/imported_model.h"

namespace shardsim {
namespace {

std::int64_t json_count(const Tree& config, const char* key) {
  const Tree& tree = required_field(config, key);
  const std::int64_t count = read_whole_number(tree);
  if (count > 0) return count;
  throw input_error(tree.place, fmt::format("{} is 0", key), "Give at least 1, or leave the table out");
}

bool flag_of(const Tree& config, const char* key) {
  const Tree* const tree = config.find(key);
  if (!is_given(tree)) return false;
  const std::string word = imported_word(scalar_text(*tree, "true or false"));
  if (word == "true" || word == "false") return word == "true";
  throw input_error(tree->place, fmt::format("{} is {}", key, excerpt(word)), "Write true or false");
}

// "0.0" is what print() leaves of a number below 0.05: half of that is nearer to it than nothing at all.
constexpr double kRoundedToZero = 0.025;

bool rounded_to_zero(const std::string& text) {
  return text.starts_with("0.") && text.find_first_not_of("0.") == std::string::npos;
}

// A list of numbers above 0, or rounded to 0.0; empty where the key is absent or null.
std::vector<double> numbers_of(const Tree& map, const char* key, const std::string& table, bool& rounded) {
  std::vector<double> numbers;
  if (!is_given(map.find(key))) return numbers;
  for (const Tree& item : required_list(*map.find(key), key)) {
    double number = parse_real(scalar_text(item, "a number above 0"), item.place);
    if (number == 0 && rounded_to_zero(item.scalar)) {
      number = kRoundedToZero;
      rounded = true;
    }
    if (!(number > 0))
      throw input_error(item.place, fmt::format("table {}: {} has {}", excerpt(table), key, excerpt(item.scalar)),
                        "Give numbers above 0; 0.0 counts as a rounded number");
    numbers.push_back(number);
  }
  return numbers;
}

// The statements of ParameterConstraints about a table's lookups: one number for each of its features.
struct Lookups {
  const Tree* stated = nullptr;  // null: nothing
  std::vector<double> factors, poolings;
  std::vector<std::int64_t> batches;  // of its own
  bool rounded = false;               // a number was 0.0

  // [1.0] is what ParameterConstraints say where nobody says anything: another table may know better of a feature.
  bool says_default() const {
    return factors.size() == 1 && factors.front() == 1 && poolings.empty() && batches.empty();
  }
};

// ParameterConstraints by table.
using StatedConstraints = std::unordered_map<std::string, const Tree*>;

StatedConstraints stated_constraints(const Tree& root) {
  StatedConstraints stated;
  const Tree* const all = root.find("constraints");
  if (!is_given(all)) return stated;
  for (const auto& [table, constraints] : required_map(*all, "'constraints'").fields) stated[table] = &constraints;
  return stated;
}

// By the path of its module and its name, or as TorchRec has it, by its name alone.
const Tree* constraint_of(const StatedConstraints& constraints, const std::string& module, const std::string& table) {
  auto found = constraints.find(module.empty() ? table : module + "." + table);
  if (found == constraints.end()) found = constraints.find(table);
  return found == constraints.end() || !is_given(found->second) ? nullptr : found->second;
}

std::vector<std::int64_t> batches_of(const Tree& stated) {
  std::vector<std::int64_t> batches;
  if (!is_given(stated.find("batch_sizes"))) return batches;
  for (const Tree& item : required_list(*stated.find("batch_sizes"), "batch_sizes")) {
    batches.push_back(read_whole_number(item));
    if (batches.back() < 1) throw input_error(item.place, "a batch of 0 samples", "Give batch sizes of at least 1");
  }
  return batches;
}

// The default is no number of each feature where there are several.
bool is_default(const std::vector<double>& factors) {
  return factors.size() == 1 && factors.front() == 1;
}

Lookups stated_lookups(const Tree* stated, const std::string& table, std::size_t features) {
  if (stated == nullptr) return {};
  required_map(*stated, "the constraints of table " + excerpt(table));
  Lookups lookups{stated, {}, {}, batches_of(*stated), false};
  lookups.factors = numbers_of(*stated, "pooling_factors", table, lookups.rounded);
  lookups.poolings = numbers_of(*stated, "num_poolings", table, lookups.rounded);
  if (is_default(lookups.factors) && features != 1) lookups.factors.clear();
  for (const std::size_t numbers : {lookups.factors.size(), lookups.poolings.size(), lookups.batches.size()}) {
    if (numbers == 0 || numbers == features) continue;
    throw input_error(stated->place,
                      fmt::format("table {} has {} and {} of its constraints", excerpt(table),
                                  counted(features, "feature"), counted(numbers, "number")),
                      "Give one pooling factor, and one of num_poolings and batch_sizes, for each feature");
  }
  return lookups;
}

// Adds the names of configurations that were read already.
void add_config_names(const Tree& tables, const std::string& module, std::vector<std::string>& names,
                      std::vector<std::string>& full_names) {
  for (const auto& [path, list] : tables.fields) add_config_names(list, path, names, full_names);
  for (const Tree& config : tables.items) {
    names.push_back(config.find("name")->scalar);
    if (!module.empty()) full_names.push_back(module + "." + names.back());
  }
}

// The keys of ParameterConstraints that are read.
constexpr const char* kRead[] = {"pooling_factors", "num_poolings", "sharding_types", "compute_kernels",
                                 "min_partition",   "cache_params", "batch_sizes",    "is_weighted"};

// A misspelt key would be taken for one of the many that do not matter here.
void refuse_misspelt(const Tree& constraints) {
  const std::vector<std::string> known(std::begin(kRead), std::end(kRead));
  for (const auto& [key, value] : constraints.fields) {
    const std::string near = std::ranges::find(known, key) == known.end() ? nearest(key, known) : "";
    if (!near.empty())
      throw input_error(value.place, "unknown key " + excerpt(key), fmt::format("Did you mean {}?", excerpt(near)));
  }
}

// Constraints that no configuration takes up are a misspelt table, or belong to another model.
void check_constraints_used(const Tree& root) {
  const Tree* const all = root.find("constraints");
  if (!is_given(all)) return;
  std::vector<std::string> names, full_names;
  if (is_given(root.find("tables"))) add_config_names(*root.find("tables"), "", names, full_names);
  std::unordered_set<std::string> listed(names.begin(), names.end());
  listed.insert(full_names.begin(), full_names.end());
  for (const auto& [table, stated] : required_map(*all, "'constraints'").fields) {
    if (!listed.contains(table))
      throw input_error(stated.place,
                        fmt::format("constraints of table {}, which 'tables' does not list", excerpt(table)),
                        names.empty() ? "Add the configurations of the tables" : known_names_hint(table, names));
    if (stated.kind == Tree::Kind::map) refuse_misspelt(stated);
  }
}

// EmbeddingBagConfig has a pooling, EmbeddingConfig has none.
TableKind torchrec_kind(const Tree& config, Table& table) {
  const Tree* const pooling = config.find("pooling");
  if (!is_given(pooling)) return TableKind::sequence;
  std::string word = imported_word(scalar_text(*pooling, "SUM, MEAN or NONE"));
  word.erase(0, word.rfind('.') + 1);
  if (word == "none") return TableKind::sequence;
  if (word != "sum" && word != "mean") {
    throw input_error(pooling->place, "pooling " + excerpt(pooling->scalar), "Write SUM, MEAN or NONE");
  }
  table.pooling = word;
  return TableKind::pooled;
}

struct StatedFeature {
  std::string name;
  Place place;
};

// Those that the configuration names; else one that is called as the table.
std::vector<StatedFeature> stated_features(const Tree& config, const Table& table) {
  std::vector<StatedFeature> names;
  if (is_given(config.find("feature_names"))) {
    for (const Tree& item : required_list(*config.find("feature_names"), "feature_names")) {
      names.push_back({checked_name(scalar_text(item, "a name"), item.place), item.place});
    }
  }
  if (names.empty()) names.push_back({table.name, table.place});
  return names;
}

// The configuration has it of its module. Where it does not say it, constraints do, as they do in TorchRec's planner.
bool is_weighted(const Tree& config, const Tree* stated, bool sequence) {
  if (is_given(config.find("is_weighted")) || is_given(config.find("weighted")))
    return flag_of(config, "is_weighted") || flag_of(config, "weighted");
  return !sequence && stated != nullptr && flag_of(*stated, "is_weighted");
}

void torchrec_features(const Tree* stated, const Tree& config, const std::string& name, ImportedTable& made) {
  Table& table = made.table;
  const std::vector<StatedFeature> names = stated_features(config, table);
  const Lookups lookups = stated_lookups(stated, name, names.size());
  if (lookups.factors.empty()) made.assumed.emplace_back("pooling_factor");
  if (lookups.says_default()) made.assumed.emplace_back("default_factor");
  if (lookups.rounded) made.assumed.emplace_back("rounded");
  const bool sequence = table.kind == TableKind::sequence;
  const bool weighted = is_weighted(config, stated, sequence);
  if (weighted && sequence)
    throw input_error(config.place, fmt::format("table {} is a sequence, which cannot have weights", excerpt(name)),
                      "Leave 'is_weighted' out, or state 'pooling' if the table is pooled");
  std::vector<PlacedFeature> features;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double factor = lookups.factors.empty() ? 1 : lookups.factors[i];
    const double poolings = lookups.poolings.empty() ? 1 : lookups.poolings[i];
    table.average_length += factor * poolings;
    Feature feature{names[i].name, factor, sequence ? 1 : poolings, weighted};
    if (!sequence && !lookups.batches.empty()) feature.batch = lookups.batches[i];
    features.push_back({std::move(feature), names[i].place});
  }
  set_features(table, std::move(features));
}

ImportedTable read_config(const StatedConstraints& constraints, const std::string& module, const Tree& config) {
  required_map(config, "a table's configuration");
  ImportedTable made;
  Table& table = made.table;
  const Tree& name = required_field(config, "name");
  table.place = name.place;
  const std::string known_as = scalar_text(name, "a name");
  table.name = checked_name(known_as, name.place);
  if (flag_of(config, "use_virtual_table")) {
    throw input_error(
        config.find("use_virtual_table")->place,
        fmt::format("table '{}' is virtual: its num_embeddings are ids that may come, not rows that are stored",
                    table.name),
        "Give the number of rows that it really holds, and use_virtual_table false");
  }
  table.rows = static_cast<std::uint64_t>(json_count(config, "num_embeddings"));
  table.dim = json_count(config, "embedding_dim");
  if (const Tree* const dtype = config.find("data_type"); is_given(dtype)) {
    table.dtype = imported_dtype(scalar_text(*dtype, "a data type"), dtype->place);
  } else {
    made.assumed.emplace_back("dtype");
  }
  table.kind = torchrec_kind(config, table);
  torchrec_features(constraint_of(constraints, module, known_as), config, known_as, made);
  made.assumed.emplace_back("access");
  if (flag_of(config, "stash_weights")) made.assumed.emplace_back("stash_weights");
  return made;
}

// `tables`: a list of configurations, or one for each module.
void read_configs(const StatedConstraints& constraints, const Tree& tables, const std::string& module,
                  ImportedModel& model) {
  if (tables.kind == Tree::Kind::map) {
    for (const auto& [path, list] : tables.fields) {
      required_list(list, "the tables of module " + excerpt(path));
      read_configs(constraints, list, path, model);
    }
    return;
  }
  for (const Tree& config : required_list(tables, "'tables'")) {
    model.tables.push_back(read_config(constraints, module, config));
    if (!module.empty()) model.tables.back().table.module = checked_name(module, config.place);
  }
}

// A feature is one input, however many tables look it up: where constraints of one table say how many ids it has,
// others that say nothing have as many.
void share_features(std::vector<ImportedTable>& tables) {
  static const std::set<std::string> kSilent = {"default_factor", "pooling_factor"};
  const auto is_silent = [](const ImportedTable& each) {
    return std::ranges::any_of(each.assumed, [](const std::string& what) { return kSilent.contains(what); });
  };
  std::map<std::string, Feature> told;
  for (const ImportedTable& each : tables)
    for (const Feature& feature : each.table.features)
      if (each.table.kind == TableKind::pooled && !is_silent(each)) told.try_emplace(feature.name, feature);
  for (ImportedTable& each : tables) {
    Table& table = each.table;
    if (table.kind != TableKind::pooled || !is_silent(each)) continue;
    bool all = true;
    table.average_length = 0;
    for (Feature& feature : table.features) {
      const auto found = told.find(feature.name);
      all = all && found != told.end();
      if (found != told.end()) {
        feature.pooling_factor = found->second.pooling_factor;
        feature.num_poolings = found->second.num_poolings;
        feature.batch = found->second.batch;
      }
      table.average_length += feature.ids();
    }
    if (all) std::erase_if(each.assumed, [](const std::string& what) { return kSilent.contains(what); });
  }
}

// Tables of one name in several modules are different tables, MODULE.TABLE.
void tell_modules_apart(std::vector<ImportedTable>& tables) {
  std::map<std::string, std::set<std::string>> modules_of;
  for (const ImportedTable& each : tables) modules_of[each.table.name].insert(each.table.module);
  for (ImportedTable& each : tables) {
    Table& table = each.table;
    if (table.module.empty() || modules_of[table.name].size() < 2) continue;
    each.known_as = table.name;
    table.name = checked_name(fmt::format("{}.{}", table.module, table.name), table.place);
  }
}

void refuse_other_keys(const Tree& root) {
  const std::vector<std::string> known = {"constraints", "plan", "tables"};
  for (const auto& [key, value] : root.fields) {
    if (std::ranges::find(known, key) != known.end()) continue;
    throw input_error(value.place, "unknown key " + excerpt(key), known_names_hint(key, known));
  }
}

}  // namespace

ImportedModel model_from_torchrec(const Tree& tree, const std::string& source) {
  ImportedModel model;
  model.source = source;
  if (is_hugectr_plan(tree))
    throw input_error(tree.place, "this is a plan file of HugeCTR, which names tables by number and says no sizes",
                      "Import the tables, in that order, and give the plan with --plan");
  if (tree.kind == Tree::Kind::list) {
    read_configs({}, tree, "", model);
    check_tables(model);
    return model;
  }
  required_map(tree, "the file");
  const bool a_plan = tree.find("tables") == nullptr && tree.find("constraints") == nullptr;
  if (!a_plan) refuse_other_keys(tree);
  if (is_given(tree.find("tables"))) read_configs(stated_constraints(tree), *tree.find("tables"), "", model);
  share_features(model.tables);
  tell_modules_apart(model.tables);
  check_constraints_used(tree);
  const Tree* const plan = a_plan ? &tree : tree.find("plan");
  if (is_given(plan)) take_plan(model, *plan);
  if (is_given(tree.find("constraints"))) take_constraints(model, *tree.find("constraints"));
  check_tables(model);
  return model;
}

}  // namespace shardsim
