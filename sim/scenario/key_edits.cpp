// What changes the keys of one case: a later value of a key, and edits of what is inside one.

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "sim/scenario/case_trees.h"
#include "sim/scenario/named_tree.h"

namespace shardsim {
namespace {

void erase(Tree& tree, std::string_view key) {
  std::erase_if(tree.fields, [key](const auto& field) { return field.first == key; });
}

// Where a plan comes from is said by one of them.
constexpr const char* kPlanKeys[] = {"planner", "planners", "plan"};

// `path` begins with the number of a job.
void edit_job(Tree& jobs, const std::string& path, const Tree& value, const TreeOrigin& from) {
  const auto in_job = case_path(path);
  if (!in_job || in_job->first >= jobs.items.size()) {
    throw input_error(value.place, fmt::format("path {} does not name a key of a job", excerpt("jobs." + path)),
                      fmt::format("Write jobs.NUMBER.KEY; jobs are numbered 0 to {}", jobs.items.size() - 1));
  }
  edit_key(jobs.items[in_job->first], job_keys(), in_job->second, value, from);
}

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

void edit_key(Tree& keys, const std::vector<std::string>& known, const std::string& path, const Tree& value,
              const TreeOrigin& from) {
  const auto [head, rest] = split_head(path);
  if (std::ranges::find(known, head) == known.end()) {
    throw input_error(value.place, fmt::format("path {}: {} is no key of a case", excerpt(path), excerpt(head)),
                      known_names_hint(head, known));
  }
  Tree* const jobs = keys.find("jobs");
  if (jobs != nullptr && (head == "workload" || head == "planner" || head == "plan")) {
    throw input_error(value.place, fmt::format("path {}: the case has jobs", excerpt(path)),
                      fmt::format("Write jobs.NUMBER.{}", path));
  }
  if (jobs != nullptr && head == "planners") {
    throw input_error(value.place, "'planners', but the case has jobs",
                      "Choose cases with a single workload by --case");
  }
  if (path.size() == head.size()) return assign_key(keys, head, located(head, value, from.folder, from.loaded));
  if (keys.find(head) == nullptr && head != "collectives") {  // the one map that may be absent
    throw input_error(value.place, fmt::format("path {}: the case has no '{}' to change", excerpt(path), head),
                      fmt::format("Write the key in the case, or set '{}' as a whole", head));
  }
  if (jobs != nullptr && head == "jobs") return edit_job(*jobs, rest, value, from);
  if (is_named(head) && split_head(rest).first == "base") {
    throw input_error(value.place, fmt::format("path {}: 'base' cannot be set alone", excerpt(path)),
                      fmt::format("Set the whole '{}', for example to {{base: NAME}}", head));
  }
  set_path(keys, path, located_leaf(path, value, from.folder));
}

}  // namespace shardsim
