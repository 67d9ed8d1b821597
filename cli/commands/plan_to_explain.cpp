#include "cli/commands/plan_to_explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/tree/json.h"
#include "cli/commands/torchrec_choice.h"
#include "plan/plan_file.h"
#include "plan/torchrec/bridge/given_plan.h"
#include "plan/unsharded_tables.h"

namespace shardsim {
namespace {

bool is_unsized(const StandalonePlan& plan, std::size_t table) {
  return std::find(plan.unsized.begin(), plan.unsized.end(), static_cast<int>(table)) != plan.unsized.end();
}

// The name of each table with the path of its module in the plan, with which the names of some begin already.
std::vector<std::string> fqns_of(const StandalonePlan& given) {
  const std::vector<std::string> modules = module_paths(given.workload, given.plan);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    torchrec::TableSpec table = torchrec::table_spec(given.workload.tables[i], given.workload);
    table.module = modules[i];
    names.push_back(table.fqn());
  }
  return names;
}

// Takes the tables of unknown size out of `plan`: of one row and one column they would be, in every total.
std::vector<UnsizedTable> take_unsized(StandalonePlan& given) {
  const std::vector<std::string> names = fqns_of(given);
  std::vector<UnsizedTable> unsized;
  std::vector<Placement> rest;
  for (Placement& placement : given.plan.placements) {
    const auto index = static_cast<std::size_t>(placement.table);
    if (!is_unsized(given, index)) {
      rest.push_back(std::move(placement));
      continue;
    }
    unsized.push_back({names[index], placement.strategy, placement.compute_kernel, placement.holders.front()});
  }
  given.plan.placements = std::move(rest);
  return unsized;
}

torchrec::PlannerRequest request_of(const StandalonePlan& given) {
  torchrec::PlannerRequest request = torchrec::request_of(given.workload);
  for (std::size_t i = request.order.size(); i-- > 0;) {
    if (!is_unsized(given, request.order[i])) continue;
    request.tables.erase(request.tables.begin() + static_cast<std::ptrdiff_t>(i));
    request.order.erase(request.order.begin() + static_cast<std::ptrdiff_t>(i));
  }
  torchrec::Topology& topology = request.settings.topology;
  if (given.cpus) topology.device = torchrec::Device::cpu;
  topology.world_size = given.ranks;
  topology.local_world_size = given.ranks_per_host;
  set_capacity(topology, 0, 0);
  return request;
}

torchrec::PlannerOptions options_of(const Case& item, const Arguments& given) {
  torchrec::PlannerOptions options = torchrec_options(item);
  if (const auto rates = given.value("rates")) options.topology.torchrec_rates = *rates == "torchrec";
  return options;
}

// The plan that the planner of the case chose, with its own figures.
PlanToExplain chosen_by_torchrec(const Case& item, const torchrec::PlannerOptions& options, std::uint64_t seed,
                                 const PlanWatch& watch) {
  PlanToExplain explained;
  if (options.simulated) explained.notes.emplace_back("Objective 'estimated' is shown; 'shardsim plan' simulates.");
  torchrec::Choice choice = torchrec_choice(item, options, seed, watch);
  explained.settings = std::move(choice.request.settings);
  explained.run = std::move(choice.run);
  return explained;
}

PlanToExplain estimated(const Case& item, const torchrec::PlannerOptions& options, std::uint64_t seed,
                        const PlanWatch& watch) {
  const Cluster cluster = cluster_of_plan(item);
  torchrec::PlannerRequest request = torchrec::planner_request(options, item.workload, cluster);
  PlanToExplain explained;
  try {
    const CasePlan given = plan_of(item, cluster, seed, watch);
    explained.run = torchrec::given_run(given.plan, item.workload, request, given.entries);
  } catch (const torchrec::PlannerError& error) {
    throw torchrec::as_input_error(error);
  }
  explained.settings = std::move(request.settings);
  std::vector<std::string> unsharded;
  for (const Table& table : item.workload.tables)
    if (!table.sharded) unsharded.push_back(table.name);
  if (!unsharded.empty())
    explained.notes.push_back(fmt::format(
        "Not sharded, and counted here as data_parallel: {}. TorchRec's planner places no such table, and has "
        "it among the dense parameters that it reserves memory for.",
        printable(first_names(unsharded, 3))));
  return explained;
}

torchrec::RunResult run_of(const StandalonePlan& given, const torchrec::PlannerRequest& request) {
  std::vector<Place> entries;
  for (const Table& table : given.workload.tables) entries.push_back(table.place);
  try {
    return torchrec::given_run(given.plan, given.workload, request, entries);
  } catch (const torchrec::PlannerError& error) {
    throw torchrec::as_input_error(error);
  }
}

// `error` at the file where it has no place of its own.
Error in_file(const std::string& path, const Error& error) {
  return error.place().source.empty() ? Error(error.failure(), Place{path}, error.what(), "") : error;
}

}  // namespace

CasePlan plan_of(const Case& item, const Cluster& cluster, std::uint64_t seed, const PlanWatch& watch) {
  CasePlan of_case;
  if (item.plan_file.empty()) {
    of_case.plan = unchecked_plan(item, cluster, seed, watch);
  } else {
    of_case.plan = checked_plan(read_json_file(item.plan_file), item.workload, cluster, true, &of_case.entries);
  }
  check_made_plan(of_case.plan, item, cluster);
  return of_case;
}

PlanToExplain explained_plan_file(const std::string& path) {
  StandalonePlan given = standalone_plan(read_json_file(path));
  PlanToExplain explained;
  explained.unsized = take_unsized(given);
  const torchrec::PlannerRequest request = request_of(given);
  explained.settings = request.settings;
  try {
    explained.run = run_of(given, request);
  } catch (const Error& error) {
    throw in_file(path, error);
  }
  explained.notes = {
      "A plan file alone: fp32 pooled tables, one id a sample, batch 512, and TorchRec's default machine are "
      "assumed, and times are what TorchRec's planner estimates for them, not a simulation. Point a scenario at it "
      "(plan: {file: ...}) for your own."};
  if (explained.unsized.empty()) return explained;
  const std::size_t count = explained.unsized.size();
  std::vector<std::string> names;
  for (const UnsizedTable& table : explained.unsized) names.push_back(table.fqn);
  explained.notes.push_back(fmt::format(
      "Not counted: {} ({}), whose size a plan file does not state. Explain the scenario that uses the plan to have {} "
      "counted.",
      counted(count, "data_parallel table"), printable(first_names(names, 3)), count == 1 ? "it" : "them"));
  return explained;
}

PlanToExplain explained_case(const Case& item, const Arguments& given, std::uint64_t seed, const PlanWatch& watch) {
  try {
    const torchrec::PlannerOptions options = options_of(item, given);
    return plans_by_torchrec(item) && !has_unsharded(item.workload) ? chosen_by_torchrec(item, options, seed, watch)
                                                                    : estimated(item, options, seed, watch);
  } catch (const Error& error) {
    throw in_case(item, error);
  }
}

}  // namespace shardsim
