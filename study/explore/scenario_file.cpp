#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "base/files.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "base/tree/yaml_text.h"
#include "study/explore/explorer.h"
#include "study/run/study.h"
#include "study/scenario/case_trees.h"
#include "study/scenario/named_tree.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

// Text that YAML reads as it stands, and as nothing else.
bool is_bare(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/';
  };
  return !text.empty() && std::ranges::all_of(text, plain);
}

std::string yaml_scalar(const Tree& tree) {
  return !tree.quoted && is_bare(tree.scalar) ? tree.scalar : in_yaml_quotes(tree.scalar);
}

std::string yaml_key(const std::string& key) {
  return is_bare(key) ? key : in_yaml_quotes(key);
}

bool is_leaf(const Tree& tree) {
  return tree.kind == Tree::Kind::null || tree.kind == Tree::Kind::scalar;
}

// On one line, in braces.
std::string yaml_flow(const Tree& tree) {
  std::string text;
  switch (tree.kind) {
    case Tree::Kind::null:
      return "~";
    case Tree::Kind::scalar:
      return yaml_scalar(tree);
    case Tree::Kind::list:
      for (const Tree& item : tree.items) text += (text.empty() ? "" : ", ") + yaml_flow(item);
      return "[" + text + "]";
    case Tree::Kind::map:
      for (const auto& [key, value] : tree.fields)
        text += (text.empty() ? "" : ", ") + yaml_key(key) + ": " + yaml_flow(value);
      return "{" + text + "}";
  }
  return text;
}

// A line for each key of maps that are not short.
std::string yaml_value(const Tree& tree, int indent) {
  constexpr std::size_t kShort = 100;
  const std::string flow = yaml_flow(tree);
  if (is_leaf(tree) || flow.size() <= kShort) return " " + flow + "\n";
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  std::string text = "\n";
  if (tree.kind == Tree::Kind::list) {
    for (const Tree& item : tree.items) text += blanks + "- " + yaml_flow(item) + "\n";
    return text;
  }
  for (const auto& [key, value] : tree.fields) text += blanks + yaml_key(key) + ":" + yaml_value(value, indent + 2);
  return text;
}

bool is_file_key(std::string_view key) {
  return is_named(key) || key == "base" || key == "file" || key == "pool";
}

// Names of files as a file in any folder finds them; names of what is shipped stay.
void name_absolutely(Tree& tree, std::string_view key, bool in_planner, const std::string& folder) {
  if (tree.kind == Tree::Kind::scalar) {
    const bool names = is_file_key(key) || (in_planner && names_planner_file(key));
    if (!names || tree.scalar.find_first_of("./") == std::string::npos) return;
    const std::string path = path_from(folder, tree.scalar);
    if (!is_there(path)) return;
    tree.scalar = fs::absolute(path).lexically_normal().string();
    tree.quoted = true;
    return;
  }
  const bool planner = in_planner || key == "planner";
  for (Tree& item : tree.items) name_absolutely(item, key, planner, folder);
  for (auto& [name, value] : tree.fields) name_absolutely(value, name, planner, folder);
}

// The last key of a path of --set, by which a value may name a file.
std::string last_key(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

void put(Tree& map, const std::string& key, Tree value) {
  std::erase_if(map.fields, [&](const auto& field) { return field.first == key; });
  map.fields.emplace_back(key, std::move(value));
}

void leave_out(Tree& keys, std::initializer_list<const char*> names) {
  for (const char* const name : names)
    std::erase_if(keys.fields, [&](const auto& field) { return field.first == name; });
}

// Without what is measured against other cases, which the file does not have.
Tree published_alone(Tree published) {
  std::erase_if(published.items, [](const Tree& each) {
    const Tree* const quantity = each.find("quantity");
    return quantity != nullptr && (quantity->scalar == "throughput_gain" || quantity->scalar == "memory_saved");
  });
  return published;
}

// The entry of the case in the file; an empty one for the only case of a file without `cases`.
Tree stated_case(const Tree& file, const std::string& name) {
  const Tree* const cases = file.find("cases");
  if (cases == nullptr && file.find("include") == nullptr) return empty_map();
  if (cases != nullptr) {
    for (const Tree& each : cases->items) {
      const Tree* const named = each.find("name");
      if (named != nullptr && named->scalar == name) return each;
    }
  }
  throw input_error(file.place, fmt::format("case {} is not written in this file by itself", excerpt(name)),
                    "It comes from 'include' or 'repeat': explore the included file, or write the case");
}

// The settings on top of the case's own `set`: a later one of a path replaces an earlier one.
Tree all_settings(const Tree& stated, const Settings& settings) {
  Tree all = stated.find("set") == nullptr ? empty_map() : *stated.find("set");
  for (const auto& [path, text] : settings) {
    Tree value = parse_yaml_value(text, {"argument --set " + path});
    name_absolutely(value, last_key(path), path.starts_with("planner"), "");
    put(all, path, std::move(value));
  }
  return all;
}

bool is_same_result(const CaseResult& one, const CaseResult& other) {
  const auto range = [](const CaseResult& item) {
    return item.interval ? std::pair(item.interval->low_ms, item.interval->high_ms) : std::pair(0.0, 0.0);
  };
  return one.iteration_ms == other.iteration_ms && one.samples_per_s == other.samples_per_s &&
         one.memory_per_rank == other.memory_per_rank && one.placements == other.placements &&
         range(one) == range(other);
}

}  // namespace

std::string Explorer::scenario_file(const Turned& turned, const WorkerOptions& workers) {
  const auto wanted = explored(turned, workers);
  if (given_.torchrec_only)
    throw input_error({"argument --torchrec-only"}, "a scenario file has no such option",
                      "Write 'constraints: {\"*\": {torchrec_only: true}}' into the scenario, and explore it without");
  const Tree file = read_yaml_file(path_);
  const std::string folder = fs::path(path_).parent_path().string();
  Tree stated = stated_case(file, turned.case_name);
  Settings settings = wanted->settings;
  if (!given_.memory_model.empty()) settings.emplace_back("memory_model", "{name: " + given_.memory_model + "}");
  std::erase_if(settings, [](const auto& setting) { return setting.first == "seed"; });

  Tree keys = file;
  for (const auto& [key, value] : stated.fields) assign_key(keys, key, value);
  // Keys about a case beside others, or about its file, have no place in a file of one case.
  leave_out(keys, {"schema", "title", "seed", "cases", "include", "sweep", "drift", "cross_check", "name",
                   "relative_to", "published", "set"});
  name_absolutely(keys, "", false, folder);
  name_absolutely(stated, "", false, folder);
  const Tree set = all_settings(stated, settings);

  std::string text = fmt::format("# {}\nschema: shardsim.scenario/1\ntitle: {}\nseed: {}\n", command(*wanted),
                                 in_yaml_quotes(title_), wanted->scenario.seed);
  for (const auto& [key, value] : keys.fields) text += yaml_key(key) + ":" + yaml_value(value, 2);
  text += fmt::format("cases:\n  - name: {}\n", turned.case_name);
  if (const Tree* const published = stated.find("published")) {
    const Tree left = published_alone(*published);
    if (!left.items.empty()) text += "    published:" + yaml_value(left, 6);
  }
  if (!set.fields.empty()) {
    text += "    set:\n";
    for (const auto& [path, value] : set.fields) text += "      " + yaml_key(path) + ": " + yaml_flow(value) + "\n";
  }
  const StudyResult study = run_study(scenario_from_text(text, "explored.yaml", {}), workers);
  if (!is_same_result(study.cases.front(), wanted->result()))
    throw input_error({path_}, "a file of this case by itself would give another result",
                      "Use the command of the page, which gives this one: " + command(*wanted));
  return text;
}

}  // namespace shardsim
