// One case of a scenario file that stands for several: `jobs`, `planners` and `repeat`.

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/tree/map_reader.h"
#include "base/tree/tree_editor.h"
#include "plan/planner.h"
#include "study/scenario/case_trees.h"
#include "study/scenario/named_tree.h"

namespace shardsim {
namespace {

// `shared` is what all jobs of the case have: there may be a thousand of them, and none needs the others.
CaseTree job_case(const CaseTree& shared, const Tree& job, std::size_t index, const std::string& prefix) {
  MapReader reader(job, fmt::format("jobs.{}", index));
  for (const std::string& key : job_keys()) reader.has(key);
  reader.finish();
  CaseTree result;
  result.name = prefix + reader.text("name", kJobNameRule);
  result.place = job.place;
  result.name_place = shared.name_place;
  result.keys = shared.keys;
  result.job = job;
  for (const char* const key : {"workload", "planner", "plan"}) {
    if (const Tree* const value = job.find(key)) result.keys.fields.emplace_back(key, *value);
  }
  return result;
}

Tree without_jobs(const Tree& keys) {
  Tree rest = keys;
  std::erase_if(rest.fields, [](const auto& field) { return field.first == "jobs"; });
  return rest;
}

constexpr std::size_t kMostRepeats = 1000;

// Unknown names are left to whoever makes the planner.
bool draws_nothing(const std::string& name) {
  const auto known = std::ranges::find(planners(), std::string_view(name), &PlannerEntry::name);
  return known != planners().end() && !known->drawn;
}

void require_drawing_planner(const CaseTree& tree, const Place& repeat) {
  const Tree* const planner = tree.keys.find("planner");
  const Tree* const name = planner == nullptr ? nullptr : planner->find("name");
  if (name != nullptr && !draws_nothing(name->scalar)) return;
  const std::string wrong =
      name == nullptr
          ? "'repeat' without a planner"
          : fmt::format("'repeat' has no effect: planner {} makes the same plan every time", excerpt(name->scalar));
  throw input_error(repeat, wrong, "Use 'planner: {name: random}', or leave 'repeat' out");
}

std::uint64_t first_seed(const CaseTree& tree, std::uint64_t seed) {
  MapReader planner(*tree.keys.find("planner"), "planner");
  return planner.has("seed") ? static_cast<std::uint64_t>(planner.count("seed", Bounds::from(0), 1)) : seed;
}

}  // namespace

const std::vector<std::string>& job_keys() {
  static const std::vector<std::string> keys{"name", "workload", "planner", "plan", "nodes", "start"};
  return keys;
}

void refuse_jobs_beside(const Tree& keys) {
  const Tree* const jobs = keys.find("jobs");
  if (jobs == nullptr) return;
  for (const char* const key : {"workload", "planner", "planners", "plan", "published", "relative_to", "repeat"}) {
    const Tree* const beside = keys.find(key);
    if (beside == nullptr) continue;
    const bool of_job = std::ranges::find(job_keys(), key) != job_keys().end();
    throw input_error(beside->place, fmt::format("'{}' and 'jobs' cannot be used together", key),
                      of_job ? "Write it in each job" : "Write it in a case with a single workload");
  }
}

std::vector<CaseTree> alone(CaseTree tree) {
  std::vector<CaseTree> one;
  one.push_back(std::move(tree));
  return one;
}

std::vector<CaseTree> expand_jobs(CaseTree tree, const std::string& prefix) {
  const Tree* const jobs = tree.keys.find("jobs");
  if (jobs == nullptr) return alone(std::move(tree));
  CaseTree shared;
  shared.name_place = tree.name_place;
  shared.keys = without_jobs(tree.keys);
  std::vector<CaseTree> trees;
  std::set<std::string> names;
  for (const Tree& job : jobs->items) {
    trees.push_back(job_case(shared, job, trees.size(), prefix));
    if (names.insert(trees.back().name).second) continue;
    throw input_error(job.place, fmt::format("two jobs are named {}", excerpt(trees.back().name)),
                      "Give each job a name of its own");
  }
  return trees;
}

CaseTree with_planner(const CaseTree& first, Tree options) {
  CaseTree again;
  again.place = first.place;
  again.changed = first.changed;
  again.again = true;
  again.keys = empty_map(first.keys.place);
  again.keys.fields.emplace_back("planner", std::move(options));
  return again;
}

void refuse_too_many(const CaseTree& tree, std::size_t count, const Place& place) {
  if (count <= kMostValues / size_of(tree.keys)) return;
  throw input_error(place, fmt::format("{} cases like this hold more than {} values together", count, kMostValues),
                    "Make fewer of them, or use a smaller workload");
}

std::vector<CaseTree> expand_repeats(CaseTree tree, std::uint64_t seed) {
  if (tree.keys.find("repeat") == nullptr) return alone(std::move(tree));
  MapReader reader(tree.keys, "");
  const auto count = static_cast<std::size_t>(reader.count("repeat", Bounds::from(1).to(kMostRepeats)));
  const Place place = reader.place_of("repeat");
  refuse_too_many(tree, count, place);
  require_drawing_planner(tree, place);
  const std::uint64_t first = first_seed(tree, seed);
  std::erase_if(tree.keys.fields, [](const auto& field) { return field.first == "repeat"; });
  const std::string name = tree.name;
  std::vector<CaseTree> trees = alone(std::move(tree));
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) trees.push_back(with_planner(trees.front(), *trees.front().keys.find("planner")));
    trees[i].name = fmt::format("{}/{}", name, i + 1);
    set_path(trees[i].keys, "planner.seed", text_tree(fmt::format("{}", first + i), place));
  }
  return trees;
}

}  // namespace shardsim
