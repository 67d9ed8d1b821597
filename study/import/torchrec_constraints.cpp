#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "base/tree/yaml_text.h"
#include "plan/plan.h"
#include "plan/plan_entries.h"
#include "sim/lower/lower.h"
#include "study/import/imported_model.h"

namespace shardsim {
namespace {

// Keys of ParameterConstraints that have no part in a simulation, nor in a scenario's constraints.
constexpr const char* kLeftOut[] = {"bounds_check_mode", "enforce_hbm", "stochastic_rounding", "use_virtual_table"};

// Lists what constraints say that is not taken, by sentence.
class LeftOut {
 public:
  void add(const std::string& sentence, const std::string& table) {
    std::vector<std::string>& tables = tables_[sentence];
    if (tables.empty() || tables.back() != table) tables.push_back(table);
  }
  void tell(std::vector<std::string>& told) const {
    constexpr std::size_t kShown = 3;
    for (const auto& [sentence, tables] : tables_)
      told.push_back(fmt::format("{} (tables {}).", sentence, first_names(tables, kShown)));
  }

 private:
  std::map<std::string, std::vector<std::string>> tables_;
};

std::vector<std::string> stated_words(const Tree& stated, const char* key, const std::string& table) {
  std::vector<std::string> words;
  if (!is_given(stated.find(key))) return words;
  for (const Tree& item : required_list(*stated.find(key), fmt::format("{} of table {}", key, excerpt(table))))
    words.push_back(enum_word(item, "a word"));
  return words;
}

std::vector<std::string> stated_types(const Tree& stated, const std::string& table) {
  std::vector<std::string> types = stated_words(stated, "sharding_types", table);
  const std::vector<std::string> known = strategy_names();
  for (const std::string& type : types)
    if (std::ranges::find(known, type) == known.end())
      throw input_error(stated.find("sharding_types")->place,
                        fmt::format("table {}: unknown sharding type {}", excerpt(table), excerpt(type)),
                        known_names_hint(type, known));
  return types;
}

std::vector<std::string> stated_kernels(const Tree& stated, const std::string& table, LeftOut& left_out) {
  std::vector<std::string> kernels;
  const std::vector<std::string> known = lowered_kernels();
  for (const std::string& word : stated_words(stated, "compute_kernels", table)) {
    const std::string kernel = kernel_of_today(word);
    if (std::ranges::find(known, kernel) == known.end()) {
      left_out.add(fmt::format("The kernel {} of the constraints is not simulated, so it is not allowed here", kernel),
                   table);
    } else {
      kernels.push_back(kernel);
    }
  }
  if (kernels.empty() && !stated_words(stated, "compute_kernels", table).empty())
    throw input_error(stated.find("compute_kernels")->place,
                      fmt::format("table {}: no kernel that its constraints allow is simulated", excerpt(table)),
                      "Allow one of " + join(known));
  return kernels;
}

void add_load_factor(const Tree& stated, const std::vector<std::string>& kernels, const std::string& table,
                     std::vector<std::string>& parts, LeftOut& left_out) {
  const Tree* const cache = stated.find("cache_params");
  if (!is_given(cache)) return;
  const Tree* const factor =
      required_map(*cache, fmt::format("the cache_params of table {}", excerpt(table))).find("load_factor");
  if (!is_given(factor)) return;
  const double share = parse_real(scalar_text(*factor, "a share"), factor->place);
  if (!(share > 0 && share <= 1))
    throw input_error(factor->place,
                      fmt::format("table {}: load_factor is {}", excerpt(table), excerpt(factor->scalar)),
                      "It is the share of the rows that the cache holds: above 0, and 1 at most");
  if (std::ranges::any_of(kernels, has_cache)) {
    parts.push_back("cache_load_factor: " + shortest(share));
  } else {
    left_out.add(
        "The load_factor of the constraints is not taken, because compute_kernels names no kernel with a cache", table);
  }
}

// The sizes of the caches of key-value stores, in TorchRec's units. Errors: one is no whole number.
void add_store_sizes(const Tree& stated, const std::vector<std::string>& kernels, const std::string& table,
                     std::vector<std::string>& parts, LeftOut& left_out) {
  const Tree* const params = stated.find("key_value_params");
  if (!is_given(params)) return;
  required_map(*params, fmt::format("the key_value_params of table {}", excerpt(table)));
  for (const auto& [key, unit] : {std::pair{"max_l1_cache_size", "MiB"}, std::pair{"l2_cache_size", "GiB"}}) {
    const Tree* const size = params->find(key);
    const std::int64_t count = is_given(size) ? read_whole_number(*size) : 0;
    if (count == 0) continue;
    if (std::ranges::any_of(kernels, in_key_value_store)) {
      parts.push_back(fmt::format("{}: {} {}", key, count, unit));
    } else {
      left_out.add(fmt::format("{} of the constraints is not taken, because compute_kernels names no kernel of a "
                               "key-value store",
                               key),
                   table);
    }
  }
}

// The text of a map of a scenario's `constraints`; "" where nothing of it is a scenario's.
std::string constraint_text(const Tree& stated, const std::string& table, LeftOut& left_out) {
  std::vector<std::string> parts;
  const std::vector<std::string> types = stated_types(stated, table);
  if (!types.empty()) parts.push_back("sharding_types: [" + join(types) + "]");
  const std::vector<std::string> kernels = stated_kernels(stated, table, left_out);
  if (!kernels.empty()) parts.push_back("compute_kernels: [" + join(kernels) + "]");
  if (const Tree* const columns = stated.find("min_partition"); is_given(columns))
    parts.push_back(fmt::format("min_partition: {}", read_whole_number(*columns)));
  if (const Tree* const group = stated.find("device_group"); is_given(group))
    parts.push_back("device_group: " + in_yaml_quotes(enum_word(*group, "cuda or cpu")));
  add_load_factor(stated, kernels, table, parts, left_out);
  add_store_sizes(stated, kernels, table, parts, left_out);
  return parts.empty() ? "" : "{" + join(parts) + "}";
}

bool says_more(const Tree& stated, const char* key) {
  const Tree* const value = stated.find(key);
  if (!is_given(value)) return false;
  const std::string word = value->kind == Tree::Kind::scalar ? imported_word(value->scalar) : "more";
  return word != "false";
}

// The tables that constraints mean by a name: theirs in the file, the model's own, or in full, MODULE.NAME.
class ConstrainedTables {
 public:
  explicit ConstrainedTables(ImportedModel& model) {
    for (ImportedTable& each : model.tables) {
      add(each.name_there(), each);
      add(each.table.name, each);
      if (!each.table.module.empty()) add(each.table.module + "." + each.name_there(), each);
    }
  }
  const std::vector<ImportedTable*>& of(const std::string& name) const {
    static const std::vector<ImportedTable*> kNone;
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? kNone : found->second;
  }

 private:
  void add(const std::string& name, ImportedTable& table) {
    std::vector<ImportedTable*>& tables = by_name_[name];
    if (tables.empty() || tables.back() != &table) tables.push_back(&table);
  }
  std::unordered_map<std::string, std::vector<ImportedTable*>> by_name_;
};

void take_output_type(const std::vector<ImportedTable*>& tables, const Tree& stated, const std::string& table,
                      LeftOut& told) {
  const Tree* const type = stated.find("output_dtype");
  if (!is_given(type)) return;
  for (ImportedTable* const each : tables)
    if (const std::string said = take_returned_type(each->table, *type); !said.empty())
      told.add("output_dtype of the constraints " + said, table);
}

void add_left_out(const std::vector<ImportedTable*>& tables, const Tree& stated, const std::string& table,
                  LeftOut& left_out) {
  const auto is_sequence = [](const ImportedTable* each) { return each->table.kind == TableKind::sequence; };
  if (is_given(stated.find("batch_sizes")) && std::ranges::any_of(tables, is_sequence))
    left_out.add(
        "batch_sizes of the constraints of sequences are not simulated: only features of pooled tables have a 'batch'",
        table);
  const auto has_weights = [](const ImportedTable* each) { return each->table.features.front().weighted; };
  if (says_more(stated, "is_weighted") && !std::ranges::all_of(tables, has_weights))
    left_out.add(
        "is_weighted of the constraints is not taken: the configuration says otherwise, or the table is a sequence",
        table);
  take_output_type(tables, stated, table, left_out);
  for (const char* const key : kLeftOut)
    if (says_more(stated, key)) left_out.add(fmt::format("{} of the constraints is not simulated", key), table);
}

}  // namespace

void take_constraints(ImportedModel& model, const Tree& constraints) {
  LeftOut left_out;
  CacheParameters caches;
  const ConstrainedTables tables(model);
  for (const auto& [table, stated] : required_map(constraints, "'constraints'").fields) {
    if (!is_given(&stated)) continue;
    add_left_out(tables.of(table), stated, table, left_out);
    if (model.plan) continue;  // where everything lies is said already
    const std::string text = constraint_text(stated, table, left_out);
    if (const Tree* const cache = stated.find("cache_params"); is_given(cache)) caches.add(cache, table, true);
    if (text.empty()) continue;
    for (const ImportedTable* const each : tables.of(table)) model.constraints[each->table.name] = text;
  }
  caches.tell(model);
  left_out.tell(model.told);
}

}  // namespace shardsim
