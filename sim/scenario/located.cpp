#include "sim/scenario/located.h"

#include <fmt/core.h>

#include "sim/scenario/named_tree.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostJobs = 1000;

Tree located_file(Tree value, const std::string& folder) {
  if (value.kind == Tree::Kind::scalar) value.scalar = path_from(folder, value.scalar);
  return value;
}

void check_job_list(const Tree& jobs) {
  const bool list = jobs.kind == Tree::Kind::list;
  if (!list || jobs.items.empty()) {
    throw input_error(jobs.place, fmt::format("'jobs' is {}", list ? "empty" : "no list"),
                      "Write one map per job, each with a dash in front: {name, workload, planner, nodes, start}");
  }
  if (jobs.items.size() > kMostJobs) {
    throw input_error(jobs.place, fmt::format("more than {} jobs", kMostJobs), "Split the scenario");
  }
  for (const Tree& job : jobs.items) {
    if (job.kind == Tree::Kind::map) continue;
    throw input_error(job.place, fmt::format("a job is {}, not a map", kind_name(job.kind)),
                      "Write {name: ..., workload: ..., planner: ..., nodes: ...}");
  }
}

Tree located_jobs(Tree jobs, const std::string& folder) {
  check_job_list(jobs);
  std::size_t values = 0;
  for (Tree& job : jobs.items) {
    for (auto& [key, value] : job.fields) value = located(key, std::move(value), folder);
    values += size_of(job);
    if (values <= kMostValues) continue;
    throw input_error(job.place, fmt::format("the jobs hold more than {} values together", kMostValues),
                      "Split the scenario, or use smaller workloads");
  }
  return jobs;
}

}  // namespace

std::size_t size_of(const Tree& tree) {
  std::size_t size = 1;
  for (const Tree& item : tree.items) size += size_of(item);
  for (const auto& [key, value] : tree.fields) size += size_of(value);
  return size;
}

bool is_named(std::string_view key) {
  return key == "cluster" || key == "workload";
}

Tree located(const std::string& key, Tree value, const std::string& folder) {
  if (is_named(key)) return whole_tree(value, key + "s", folder);
  if (key == "jobs") return located_jobs(std::move(value), folder);
  for (const char* const inner : {"file", "model"}) {
    Tree* const file = value.kind == Tree::Kind::map ? value.find(inner) : nullptr;
    if (file != nullptr) *file = located_file(*file, folder);
  }
  return value;
}

Tree located_leaf(std::string_view path, Tree value, const std::string& folder) {
  const bool file = path.ends_with(".file") || path == "planner.model";
  return file ? located_file(std::move(value), folder) : value;
}

}  // namespace shardsim
