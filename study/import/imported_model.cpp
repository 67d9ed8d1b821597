#include "study/import/imported_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "models/workload/model_name.h"
#include "plan/plan_file.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostTables = 100'000;

const std::map<std::string, Dtype>& dtype_words() {
  static const std::map<std::string, Dtype> words = {
      {"fp32", Dtype::fp32}, {"float32", Dtype::fp32}, {"float", Dtype::fp32}, {"fp16", Dtype::fp16},
      {"half", Dtype::fp16}, {"float16", Dtype::fp16}, {"bf16", Dtype::bf16},  {"bfloat16", Dtype::bf16},
      {"int8", Dtype::int8}, {"uint8", Dtype::int8}};
  return words;
}

}  // namespace

std::string checked_name(const std::string& name, const Place& place) {
  return model_name_leaf().parse(name, place);
}

bool is_given(const Tree* tree) {
  return tree != nullptr && tree->kind != Tree::Kind::null;
}

std::string imported_word(std::string_view text) {
  // <DataType.FP16: 'FP16'>, as repr writes a member of an enumeration.
  if (text.starts_with('<') && text.ends_with('>') && text.find(": ") != std::string_view::npos)
    text = text.substr(1, text.find(": ") - 1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  std::string word(text);
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ' ' || c == '-') c = '_';
  }
  return word;
}

void set_features(Table& table, std::vector<PlacedFeature> features) {
  std::unordered_set<std::string> names;
  for (PlacedFeature& each : features) {
    if (!names.insert(each.feature.name).second) {
      throw input_error(each.place,
                        fmt::format("table '{}' has two features called '{}'", table.name, each.feature.name),
                        "Name every feature of a table once");
    }
    table.features.push_back(std::move(each.feature));
  }
}

Dtype imported_dtype(const std::string& text, const Place& place) {
  std::string word = imported_word(text);
  word.erase(0, word.rfind('.') + 1);
  const auto found = dtype_words().find(word);
  if (found != dtype_words().end()) return found->second;
  const bool narrow = word.find("int4") != word.npos || word.find("int2") != word.npos;
  throw input_error(place, "tables cannot have the type " + excerpt(text),
                    narrow
                        ? "Nothing here has less than a byte a value: write int8, whose rows take more memory and time"
                        : "Write fp32, fp16, bf16 or int8; for another type, write the one with the same number of "
                          "bytes");
}

void check_tables(const ImportedModel& model) {
  if (model.tables.empty()) throw input_error({model.source}, "there are no tables", "Give at least one");
  std::set<std::string_view> names;
  for (const ImportedTable& table : model.tables) {
    if (names.size() >= kMostTables) {
      throw input_error(table.table.place, fmt::format("more than {} tables", kMostTables), "Split the model");
    }
    if (names.insert(table.table.name).second) continue;
    throw input_error(table.table.place, fmt::format("two tables are called '{}'", table.table.name),
                      "Give each its own name");
  }
}

namespace {

// The table of the model that an entry of the plan is of; null: there is none. Paths may differ, as they do where a
// plan was made for a part of the model, so that a name that only one module has is enough.
const ImportedTable* table_of_entry(const ImportedModel& model, const std::string& module, const std::string& name) {
  const ImportedTable* named = nullptr;
  for (const ImportedTable& each : model.tables) {
    const std::string& there = each.name_there();
    const bool same_module = each.table.module == module || each.table.module.empty();
    if (there == name && same_module) return &each;
    if (!module.empty() && same_module && module + "." + there == name) return &each;
    if (there == name) named = &each;
  }
  return named;
}

// The plan's tables by the names that they have here. Modules of other paths are told.
void rename_tables(ImportedModel& model) {
  constexpr std::size_t kShown = 3;
  for (auto& [module, tables] : model.plan->find("plan")->fields) {
    std::map<std::string, std::vector<std::string>> elsewhere;  // tables by their module in the model
    for (auto& [name, entry] : tables.fields) {
      const ImportedTable* const found = table_of_entry(model, module, name);
      if (found == nullptr) continue;
      name = found->table.name;
      const std::string& there = found->table.module;
      if (!module.empty() && !there.empty() && there != module) elsewhere[there].push_back(name);
    }
    for (const auto& [there, names] : elsewhere)
      model.told.push_back(
          fmt::format("The plan has a module {}, and 'tables' has {}: tables of one name are taken as the same (tables "
                      "{}).",
                      excerpt(module), excerpt(there), first_names(names, kShown)));
  }
}

// Modules of which the plan has no table stay as they are: DDP replicates them with the dense part.
void leave_unsharded(ImportedModel& model, const std::unordered_set<std::string>& placed) {
  std::unordered_set<std::string> sharded;
  for (const ImportedTable& each : model.tables)
    if (placed.contains(each.table.name)) sharded.insert(each.table.module);
  std::map<std::string, std::vector<std::string>> left;
  for (ImportedTable& each : model.tables) {
    Table& table = each.table;
    if (table.module.empty() || sharded.contains(table.module) || table.dtype != Dtype::fp32) continue;
    left[table.module].push_back(each.name_there());
    table.sharded = false;
    table.module.clear();
  }
  constexpr std::size_t kShown = 5;
  for (const auto& [module, names] : left)
    model.told.push_back(fmt::format(
        "The plan has no table of the module {}, so TorchRec does not shard it, and DDP replicates it as it "
        "does the dense part (tables {}: 'sharded: false').",
        excerpt(module), first_names(names, kShown)));
}

// A planner of TorchRec places every table of the modules that it shards.
void check_all_placed(ImportedModel& model) {
  std::unordered_set<std::string> placed;
  std::vector<std::string> known;
  for (const auto& [module, tables] : model.plan->find("plan")->fields) {
    for (const auto& [name, entry] : tables.fields) {
      placed.insert(name);
      known.push_back(name);
    }
  }
  leave_unsharded(model, placed);
  constexpr std::size_t kShown = 5;
  for (const ImportedTable& each : model.tables)
    if (each.table.sharded && !placed.contains(each.table.name))
      throw input_error(
          each.table.place,
          fmt::format("table '{}' is not in the plan, which has {}", each.name_there(), first_names(known, kShown)),
          "Give the plan of all these tables, or leave out what TorchRec does not shard: DDP replicates it, and "
          "'sharded: false' of a table of the workload says so");
}

// Adds the tables that the plan alone knows. Errors (Failure::input): a replicated table, whose size it does not say.
void add_tables_of_plan(ImportedModel& model) {
  const StandalonePlan alone = standalone_plan(*model.plan);
  std::vector<const ImportedTable*> known;  // in the order of the plan, as the tables of `alone` are
  std::vector<std::string> module_of;
  for (const auto& [module, tables] : model.plan->find("plan")->fields) {
    for (const auto& [name, entry] : tables.fields) {
      known.push_back(table_of_entry(model, module, name));
      module_of.push_back(module);
    }
  }
  std::vector<ImportedTable> more;
  for (std::size_t i = 0; i < alone.workload.tables.size(); ++i) {
    ImportedTable made;
    made.table = alone.workload.tables[i];
    if (known[i] != nullptr) continue;
    if (std::ranges::find(alone.unsized, static_cast<int>(i)) != alone.unsized.end()) {
      throw input_error(
          made.table.place,
          fmt::format("table {} appears only in the plan, which does not state its size", excerpt(made.table.name)),
          "Add its configuration to 'tables': the plan of a replicated table has no shards");
    }
    made.table.name = checked_name(made.table.name, made.table.place);
    if (!module_of[i].empty()) made.table.module = checked_name(module_of[i], made.table.place);
    made.table.features = {{made.table.name, 1, 1, false}};
    made.assumed = {"kind", "pooling_factor", "dtype", "access"};
    more.push_back(std::move(made));
  }
  std::ranges::move(more, std::back_inserter(model.tables));
}

// Lookups of these tables return vectors of the type that their entries say.
void take_returned_types(ImportedModel& model) {
  constexpr std::size_t kShown = 3;
  std::unordered_map<std::string_view, Table*> known;
  for (ImportedTable& each : model.tables) known[each.table.name] = &each.table;
  std::map<std::string, std::vector<std::string>> told;
  for (auto& [module, tables] : model.plan->find("plan")->fields) {
    for (auto& [name, entry] : tables.fields) {
      const auto type = std::ranges::find(entry.fields, kReturnedType, &std::pair<std::string, Tree>::first);
      if (type == entry.fields.end()) continue;
      if (const auto table = known.find(name); table != known.end())
        told[take_returned_type(*table->second, type->second)].push_back(name);
      entry.fields.erase(type);
    }
  }
  for (const auto& [said, tables] : told)
    if (!said.empty())
      model.told.push_back(fmt::format("output_dtype of the plan {} (tables {}).", said, first_names(tables, kShown)));
}

}  // namespace

std::string take_returned_type(Table& table, const Tree& type) {
  const std::string word = enum_word(type, "a type");
  if (word == "fp32" || word == "float32" || word == "float") return "";
  const bool half = word == "fp16" || word == "float16" || word == "half";
  if (!half && word != "bf16" && word != "bfloat16") return "is not taken: vectors are exchanged as fp32, fp16 or bf16";
  if (!table.wire_forward) table.wire_forward = table.wire_backward = WireDtype{half ? Dtype::fp16 : Dtype::bf16};
  return fmt::format("is the 'wire_dtype' of a table here, {}", half ? "fp16" : "bf16");
}

void take_plan(ImportedModel& model, const Tree& tree) {
  model.plan = is_hugectr_plan(tree) ? plan_from_hugectr(tree, model) : plan_from_torchrec(tree, model);
  model.world = world_of(*model.plan);
  if (const std::string text = world_text(model.world); !text.empty()) model.told.push_back(text);
  if (model.world.group) model.plan = plan_of_group(*model.plan, model.world);
  add_tables_of_plan(model);
  rename_tables(model);
  take_returned_types(model);
  check_all_placed(model);
}

}  // namespace shardsim
