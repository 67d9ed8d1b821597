#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/tree/json.h"
#include "plan/check.h"
#include "plan/constraints.h"
#include "plan/memory_model.h"
#include "plan/plan_file.h"
#include "plan/sharding_groups.h"
#include "plan/torchrec_types.h"
#include "python/core/bindings.h"
#include "python/core/request.h"
#include "study/planning/prepared_case.h"

namespace shardsim::python {
namespace {

// The iteration of one case under plan after plan: what does not depend on the plan is made once.
class Rater {
 public:
  Rater(const Request& request, const std::string& case_name);

  // The entry of one table in a plan of TorchRec's JSON form.
  struct Entry {
    std::string module, table;
    std::string json;
  };
  // Milliseconds of an iteration with the plan of these entries; those of `shardsim run` for expected batches. An entry
  // that was there before is not read again. Errors: those of given_plan() and of a simulation; Failure::infeasible for
  // a plan that does not fit in memory.
  double iteration_ms(const std::vector<Entry>& entries);
  // Ranks of each node that a plan is made for: of 2D parallelism those of one group.
  int ranks_per_node() const { return cluster_of_plan(chosen_->item()).ranks_per_node(); }

 private:
  Plan plan_of(const std::vector<Entry>& entries);
  const Plan& part_of(const Entry& entry);
  const Cluster& cluster_of_entries() const { return groups_ ? groups_->cluster() : *cluster_; }

  std::unique_ptr<const ChosenCase> chosen_;  // which prepared_ points into
  std::shared_ptr<const Cluster> cluster_;
  std::unique_ptr<const MemoryModel> memory_;
  std::optional<GroupedWorld> groups_;
  std::unordered_map<std::string, Plan> parts_;  // of entries by all that they say
  std::optional<PreparedCase> prepared_;         // with the plan that came last
};

constexpr std::size_t kMostParts = 200'000;  // some 100 MB

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

std::string json_of(const std::vector<Rater::Entry>& entries) {
  std::map<std::string, std::vector<std::string>> modules;
  for (const Rater::Entry& entry : entries) modules[entry.module].push_back(quoted(entry.table) + ": " + entry.json);
  std::vector<std::string> parts;
  for (const auto& [module, tables] : modules)
    parts.push_back(fmt::format("{}: {{{}}}", quoted(module), fmt::join(tables, ", ")));
  return fmt::format("{{\"plan\": {{{}}}}}", fmt::join(parts, ", "));
}

Rater::Rater(const Request& request, const std::string& case_name)
    : chosen_(std::make_unique<const ChosenCase>(chosen_case(request, case_name))),
      cluster_(std::make_shared<const Cluster>(cluster_of(chosen_->item()))),
      memory_(make_memory_model(chosen_->item().memory_model)),
      groups_(GroupedWorld::of(chosen_->item().workload, *cluster_)) {}

const Plan& Rater::part_of(const Entry& entry) {
  std::string key = entry.module + '\n' + entry.table + '\n' + entry.json;
  const auto known = parts_.find(key);
  if (known != parts_.end()) return known->second;
  if (parts_.size() >= kMostParts) parts_.clear();
  Plan part = plan_from_tree(parse_json(json_of({entry}), "plan"), chosen_->item().workload, cluster_of_entries());
  return parts_.emplace(std::move(key), std::move(part)).first->second;
}

// Errors in an entry are told as errors of the whole plan.
Plan Rater::plan_of(const std::vector<Entry>& entries) {
  const Case& item = chosen_->item();
  try {
    Plan plan;
    for (const Entry& entry : entries) {
      const Plan& part = part_of(entry);
      plan.placements.insert(plan.placements.end(), part.placements.begin(), part.placements.end());
      plan.modules.insert(part.modules.begin(), part.modules.end());
      plan.idle_caches.insert(plan.idle_caches.end(), part.idle_caches.begin(), part.idle_caches.end());
    }
    std::ranges::stable_sort(plan.placements, {}, &Placement::table);
    check_plan(plan, item.workload, cluster_of_entries(), {"plan"});
    return groups_ ? groups_->of_world(plan) : plan;
  } catch (const Error&) {
    return given_plan(json_of(entries), item, *cluster_);
  }
}

double Rater::iteration_ms(const std::vector<Entry>& entries) {
  const Case& item = chosen_->item();
  return done_in_case(item, [&] {
    Plan plan = plan_of(entries);
    check_constraints(plan, item.workload, item.constraints, row_ranks(item.workload, item.cluster), "the proposal");
    check_memory(plan, item.workload, *cluster_, *memory_);
    if (prepared_) {
      PreparedCase next = prepared_->with_plan(std::move(plan));
      const double ms = simulated_ms(next);
      prepared_.emplace(std::move(next));
      return ms;
    }
    prepared_.emplace(*chosen_->scenario, item, cluster_, std::move(plan));
    return simulated_ms(*prepared_);
  });
}

}  // namespace

void bind_rater(py::module_& module) {
  py::class_<Rater>(module, "Rater")
      .def(py::init([](const Request& request, const std::string& name) {
             return without_gil([&] { return std::make_unique<Rater>(request, name); });
           }),
           py::arg("request"), py::arg("case"))
      .def("ranks_per_node", &Rater::ranks_per_node)
      .def(
          "iteration_ms",
          [](Rater& rater, std::vector<std::tuple<std::string, std::string, std::string>> entries) {
            std::vector<Rater::Entry> plan;
            for (auto& [path, table, json] : entries)
              plan.push_back({std::move(path), std::move(table), std::move(json)});
            return without_gil([&] { return rater.iteration_ms(plan); });
          },
          py::arg("entries"));
}

}  // namespace shardsim::python
