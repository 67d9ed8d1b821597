// A later value of one key of a case, and what it drops.

#include <fmt/core.h>

#include <algorithm>

#include "study/scenario/case_trees.h"

namespace shardsim {
namespace {

void erase(Tree& tree, std::string_view key) {
  std::erase_if(tree.fields, [key](const auto& field) { return field.first == key; });
}

// One of these says where a plan comes from.
constexpr const char* kPlanKeys[] = {"planner", "planners", "plan"};

}  // namespace

void refuse_several_plans(const Tree& tree) {
  const char* first = nullptr;
  for (const char* const key : kPlanKeys) {
    const Tree* const here = tree.find(key);
    if (here == nullptr) continue;
    if (first != nullptr) {
      throw input_error(here->place, fmt::format("'{}' beside '{}'", key, first),
                        "Keep one of the two: a plan is read from a file (plan), made by a planner (planner), or made "
                        "by several that are compared (planners)");
    }
    first = key;
  }
}

void assign_key(Tree& keys, const std::string& key, Tree value) {
  const bool planned = std::ranges::find(kPlanKeys, key) != std::end(kPlanKeys);
  for (const char* const other : kPlanKeys) {
    if (key == "jobs" || (planned && other != key)) erase(keys, other);
  }
  if (key == "jobs") erase(keys, "workload");
  if (key == "workload" || planned) erase(keys, "jobs");
  if (key == "planners") {
    for (const char* const single : {"published", "relative_to", "repeat"}) erase(keys, single);
  }
  if (Tree* const old = keys.find(key)) {
    *old = std::move(value);
  } else {
    keys.fields.emplace_back(key, std::move(value));
  }
}

}  // namespace shardsim
