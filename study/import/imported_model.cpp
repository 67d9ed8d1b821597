#include "study/import/imported_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "base/text.h"
#include "plan/plan_file.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostTables = 100'000;
constexpr std::size_t kLongestLabel = 256;

bool is_label_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

const std::map<std::string, Dtype>& dtype_words() {
  static const std::map<std::string, Dtype> words = {
      {"fp32", Dtype::fp32}, {"float32", Dtype::fp32}, {"float", Dtype::fp32}, {"fp16", Dtype::fp16},
      {"half", Dtype::fp16}, {"float16", Dtype::fp16}, {"bf16", Dtype::bf16},  {"bfloat16", Dtype::bf16},
      {"int8", Dtype::int8}, {"uint8", Dtype::int8}};
  return words;
}

}  // namespace

bool is_given(const Tree* tree) {
  return tree != nullptr && tree->kind != Tree::Kind::null;
}

std::string imported_word(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  std::string word(text);
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ' ' || c == '-') c = '_';
  }
  return word;
}

std::string imported_label(const std::string& name, const Place& place, std::string* known_as) {
  if (name.empty() || name.size() > kLongestLabel) {
    throw input_error(place, name.empty() ? "a name is empty" : "the name " + excerpt(name) + " is over 256 bytes",
                      "Give every table a name of letters, digits, '_', '.' and '-'");
  }
  std::string label = name;
  std::ranges::replace_if(
      label, [](char c) { return !is_label_letter(c); }, '_');
  if (known_as != nullptr && label != name) *known_as = name;
  return label;
}

void set_features(Table& table, std::vector<PlacedFeature> features) {
  std::unordered_set<std::string> names;
  for (PlacedFeature& each : features) {
    if (!names.insert(each.feature.name).second) {
      throw input_error(each.place,
                        fmt::format("table '{}' has two features called '{}'", table.name, each.feature.name),
                        "Name every feature of a table once; every character other than a letter, digit, '_', '.' or "
                        "'-' counts as '_'");
    }
    table.features.push_back(std::move(each.feature));
  }
}

Dtype imported_dtype(const std::string& text, const Place& place) {
  std::string word = imported_word(text);
  word.erase(0, word.rfind('.') + 1);
  const auto found = dtype_words().find(word);
  if (found != dtype_words().end()) return found->second;
  throw input_error(place, "tables cannot have the type " + excerpt(text),
                    "Write fp32, fp16, bf16 or int8; for another type, write the one with the same number of bytes");
}

void check_tables(const ImportedModel& model) {
  if (model.tables.empty()) throw input_error({model.source}, "there are no tables", "Give at least one");
  std::set<std::string_view> names;
  for (const ImportedTable& table : model.tables) {
    if (names.size() >= kMostTables) {
      throw input_error(table.table.place, fmt::format("more than {} tables", kMostTables), "Split the model");
    }
    if (names.insert(table.table.name).second) continue;
    throw input_error(
        table.table.place, fmt::format("two tables are called '{}'", table.table.name),
        "Give each its own name; every character other than a letter, digit, '_', '.' or '-' counts as '_'");
  }
}

void add_tables_of_plan(ImportedModel& model) {
  const StandalonePlan alone = standalone_plan(*model.plan);
  std::set<std::string> known;
  for (const ImportedTable& table : model.tables) {
    known.insert(table.known_as.empty() ? table.table.name : table.known_as);
  }
  for (std::size_t i = 0; i < alone.workload.tables.size(); ++i) {
    ImportedTable made;
    made.table = alone.workload.tables[i];
    if (known.contains(made.table.name)) continue;
    if (std::ranges::find(alone.unsized, static_cast<int>(i)) != alone.unsized.end()) {
      throw input_error(
          made.table.place,
          fmt::format("table {} appears only in the plan, which does not state its size", excerpt(made.table.name)),
          "Add its configuration to 'tables': the plan of a replicated table has no shards");
    }
    const std::string name = made.table.name;
    made.table.name = imported_label(name, made.table.place, &made.known_as);
    made.table.features = {{made.table.name, 1, 1, false}};
    made.assumed = {"kind", "pooling_factor", "dtype", "access"};
    model.tables.push_back(std::move(made));
  }
}

}  // namespace shardsim
