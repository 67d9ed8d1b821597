#include "cli/commands/explained_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/tree/json.h"
#include "plan/memory_model.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "plan/torchrec/bridge/choice.h"
#include "plan/torchrec/bridge/given_plan.h"
#include "sim/scenario/read_case.h"
#include "sim/study/prepared_case.h"
#include "sim/study/study.h"

namespace shardsim {
namespace {

bool is_unsized(const StandalonePlan& plan, std::size_t table) {
  return std::find(plan.unsized.begin(), plan.unsized.end(), static_cast<int>(table)) != plan.unsized.end();
}

// Takes the tables of unknown size out of `plan`: of one row and one column they would be, in every total.
std::vector<UnsizedTable> take_unsized(StandalonePlan& given) {
  const std::vector<std::string> modules = module_paths(given.workload, given.plan);
  std::vector<UnsizedTable> unsized;
  std::vector<Placement> rest;
  for (Placement& placement : given.plan.placements) {
    const auto index = static_cast<std::size_t>(placement.table);
    if (!is_unsized(given, index)) {
      rest.push_back(std::move(placement));
      continue;
    }
    unsized.push_back({fmt::format("{}.{}", modules[index], given.workload.tables[index].name),
                       std::string(strategy_name(placement.strategy)), placement.compute_kernel,
                       placement.holders.front()});
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

// "a, b, c and 6 more".
std::string some_names(const std::vector<UnsizedTable>& tables) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tables.size() && i < kShown; ++i) names.push_back(printable(tables[i].fqn));
  const std::string more = tables.size() > kShown ? fmt::format(" and {} more", tables.size() - kShown) : "";
  return join(names) + more;
}

torchrec::PlannerOptions options_of(const Case& item) {
  const bool torchrecs = item.plan_file.empty() && item.planner.find("name")->scalar == "torchrec";
  Tree map = torchrecs ? item.planner : named_map("torchrec"), memory = item.memory_model;
  share_torchrec_rules(map, memory);
  MapReader reader(map, "planner");
  reader.name("name");
  return torchrec::read_planner_options(reader);
}

// What the planner of the case chose, with its own figures.
PlanToExplain chosen_by_torchrec(const Case& item, torchrec::PlannerOptions options, std::uint64_t seed,
                                 const PlanWatch& watch) {
  const auto memory = make_memory_model(item.memory_model);
  PlanToExplain explained;
  if (options.simulated) explained.notes.emplace_back("Objective 'estimated' is shown; 'shardsim plan' simulates.");
  options.simulated = false;
  const PlannerContext context{*memory, seed, {}, {}, {}, [&] { throw_if_interrupted(watch.interrupted); }};
  torchrec::Choice choice = torchrec::choose_plan(options, item.workload, cluster_of(item), context);
  explained.settings = std::move(choice.request.settings);
  explained.run = std::move(choice.run);
  return explained;
}

PlanToExplain estimated(const Case& item, const torchrec::PlannerOptions& options, std::uint64_t seed,
                        const PlanWatch& watch) {
  const Cluster cluster = cluster_of(item);
  torchrec::PlannerRequest request = torchrec::planner_request(options, item.workload, cluster);
  PlanToExplain explained;
  try {
    explained.run = torchrec::given_run(unchecked_plan(item, cluster, seed, watch), item.workload, request);
  } catch (const torchrec::PlannerError& error) {
    throw torchrec::as_input_error(error);
  }
  explained.settings = std::move(request.settings);
  return explained;
}

}  // namespace

PlanToExplain explained_plan_file(const std::string& path) {
  StandalonePlan given = standalone_plan(read_json_file(path));
  PlanToExplain explained;
  explained.unsized = take_unsized(given);
  const torchrec::PlannerRequest request = request_of(given);
  explained.settings = request.settings;
  explained.run = torchrec::given_run(given.plan, given.workload, request);
  explained.notes = {
      "A plan file alone: fp32 pooled tables, one id a sample, batch 512, and TorchRec's default machine are "
      "assumed. Point a scenario at it (plan: {file: ...}) for your own."};
  if (explained.unsized.empty()) return explained;
  const std::size_t count = explained.unsized.size();
  explained.notes.push_back(
      fmt::format("Of unknown size, and in no figure: {} ({}), of which a plan file says no "
                  "size. Explain the "
                  "scenario that names the plan to have {} counted.",
                  counted(count, "data_parallel table"), some_names(explained.unsized), count == 1 ? "it" : "them"));
  return explained;
}

PlanToExplain explained_case(const Case& item, std::uint64_t seed, const PlanWatch& watch) {
  try {
    const torchrec::PlannerOptions options = options_of(item);
    const bool torchrecs = item.plan_file.empty() && item.planner.find("name")->scalar == "torchrec";
    return torchrecs ? chosen_by_torchrec(item, options, seed, watch) : estimated(item, options, seed, watch);
  } catch (const Error& error) {
    throw in_case(item, error);
  }
}

}  // namespace shardsim
