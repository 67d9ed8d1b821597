#include "study/scenario/read_planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "plan/planner.h"

namespace shardsim {
namespace {

// The planners that another one asks for some tables, as maps where the file has names.
void name_planners_within(Tree& planner) {
  const auto name = [](Tree& part) { part = named_map(part, planner_names()); };
  if (planner.kind != Tree::Kind::map) return;
  if (Tree* const pooled = planner.find("pooled")) name(*pooled);
  if (Tree* const tables = planner.find("tables"); tables != nullptr) {
    for (auto& [pattern, part] : tables->fields) {
      name(part);
      name_planners_within(part);
    }
  }
}

constexpr const char* kRules[] = {"version", "variant", "rules", "run_embedding_at_peak_memory"};

bool is_torchrec(const Tree& options) {
  const Tree* name = options.kind == Tree::Kind::map ? options.find("name") : nullptr;
  return name != nullptr && name->scalar == "torchrec";
}

void share_rules_of(Tree& planner, Tree& memory_model) {
  for (const char* key : kRules) {
    const Tree* made = planner.find(key);
    const Tree* judged = memory_model.find(key);
    if (made && judged && !(*made == *judged)) {
      throw input_error(judged->place, fmt::format("memory_model.{} and planner.{} differ", key, key),
                        "Write it in one of the two places: it holds for both");
    }
    if (made && !judged) {
      memory_model.fields.emplace_back(key, *made);
    } else if (judged && !made) {
      planner.fields.emplace_back(key, *judged);
    }
  }
}

}  // namespace

Tree model_map(MapReader& reader, const char* key) {
  const Tree& tree = reader.required(key);
  note_form(tree, stated_map());
  if (tree.kind == Tree::Kind::map) return tree;
  throw input_error(tree.place, fmt::format("'{}' must be a map, but is {}", key, kind_name(tree.kind)),
                    fmt::format("Write '{}: {{name: ...}}'", key));
}

std::string read_plan_file_name(MapReader& reader) {
  MapReader plan = reader.map("plan");
  const std::string file = plan.text("file", kFileNameRule);
  plan.finish();
  return file;
}

void read_planner(MapReader& reader, const CaseTree& tree, Case& item) {
  const bool planned = reader.has("planner");
  const bool filed = reader.has("plan");
  if (planned == filed) {
    throw input_error(
        tree.place, fmt::format("case {} has {}", excerpt(tree.name), planned ? "a planner and a plan" : "no planner"),
        "Write either 'planner: {name: ...}' or 'plan: {file: ...}'");
  }
  if (planned) {
    item.planner = model_map(reader, "planner");
    name_planners_within(item.planner);
  } else {
    item.plan_file = read_plan_file_name(reader);
  }
}

void share_rules(const CaseTree& tree, Case& item) {
  const Tree judging = item.memory_model;
  share_torchrec_rules(item.planner, item.memory_model);
  if (!tree.compared || item.memory_model == judging) return;
  throw input_error(item.planner.place,
                    fmt::format("planner {} states rules about memory that 'memory_model' does not state",
                                excerpt(tree.compared->label)),
                    "Write them in 'memory_model', which holds for all planners of the comparison");
}

void share_torchrec_rules(Tree& planner, Tree& memory_model) {
  if (!is_torchrec(memory_model)) return;
  for (Tree* const each : planners_within(planner)) {
    if (is_torchrec(*each)) share_rules_of(*each, memory_model);
  }
}

std::vector<const Tree*> planners_within(const Tree& planner) {
  std::vector<const Tree*> found;
  if (planner.kind != Tree::Kind::map || planner.find("name") == nullptr) return found;
  found.push_back(&planner);
  const auto add = [&](const Tree& part) {
    const std::vector<const Tree*> more = planners_within(part);
    found.insert(found.end(), more.begin(), more.end());
  };
  if (const Tree* const pooled = planner.find("pooled")) add(*pooled);
  if (const Tree* const tables = planner.find("tables"); tables != nullptr) {
    for (const auto& [pattern, part] : tables->fields) add(part);
  }
  return found;
}

std::vector<Tree*> planners_within(Tree& planner) {
  std::vector<Tree*> found;
  for (const Tree* const each : planners_within(std::as_const(planner))) found.push_back(const_cast<Tree*>(each));
  return found;
}

}  // namespace shardsim
