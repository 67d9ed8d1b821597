#include "sim/scenario/job_trees.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/map_reader.h"
#include "base/text.h"

namespace shardsim {
namespace {

CaseTree job_case(const CaseTree& tree, const Tree& job, std::size_t index, const std::string& prefix) {
  MapReader reader(job, fmt::format("jobs.{}", index));
  for (const std::string& key : job_keys()) reader.has(key);
  reader.finish();
  CaseTree result;
  result.name = prefix + reader.text("name");
  result.place = job.place;
  result.keys = tree.keys;
  result.fabric = tree.name;
  result.job = job;
  std::erase_if(result.keys.fields, [](const auto& field) { return field.first == "jobs"; });
  for (const char* const key : {"workload", "planner", "plan"}) {
    if (const Tree* const value = job.find(key)) result.keys.fields.emplace_back(key, *value);
  }
  return result;
}

}  // namespace

const std::vector<std::string>& job_keys() {
  static const std::vector<std::string> keys{"name", "workload", "planner", "plan", "nodes", "start"};
  return keys;
}

void refuse_jobs_beside(const Tree& keys) {
  const Tree* const jobs = keys.find("jobs");
  if (jobs == nullptr) return;
  for (const char* const key : {"workload", "planner", "plan", "published", "relative_to", "repeat"}) {
    const Tree* const beside = keys.find(key);
    if (beside == nullptr) continue;
    const bool of_job = std::ranges::find(job_keys(), key) != job_keys().end();
    throw input_error(beside->place, fmt::format("'{}' beside 'jobs'", key),
                      of_job ? "Write it in each job" : "Write it in a case with a single workload");
  }
}

std::vector<CaseTree> expand_jobs(const CaseTree& tree, const std::string& prefix) {
  const Tree* const jobs = tree.keys.find("jobs");
  if (jobs == nullptr) return {tree};
  std::vector<CaseTree> trees;
  std::set<std::string> names;
  for (const Tree& job : jobs->items) {
    trees.push_back(job_case(tree, job, trees.size(), prefix));
    if (names.insert(trees.back().name).second) continue;
    throw input_error(job.place, fmt::format("two jobs are named {}", excerpt(trees.back().name)),
                      "Give each job a name of its own");
  }
  return trees;
}

}  // namespace shardsim
