#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/command.h"
#include "cli/scenario_arguments.h"
#include "plan/check.h"
#include "plan/memory_model.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "plan/standalone_plan.h"
#include "plan/torchrec/choice.h"
#include "plan/torchrec/explanation.h"
#include "plan/torchrec/given_plan.h"
#include "plan/torchrec/number_text.h"
#include "plan/torchrec/statistics_text.h"
#include "sim/planner_bandwidths.h"
#include "sim/study.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

// A plan with the inputs that its figures follow from.
struct Subject {
  torchrec::RunSettings settings;
  torchrec::RunResult run;
  std::vector<std::string> notes;
};

// TorchRec's own defaults stand for what a plan file does not say.
Subject of_plan_file(const std::string& path) {
  const StandalonePlan given = standalone_plan(read_json_file(path));
  torchrec::PlannerRequest request;
  for (torchrec::WorkloadTable& table : torchrec::tables_of(given.workload)) {
    request.tables.push_back({std::move(table.spec), {}});
    request.order.push_back(table.index);
  }
  request.settings.topology.world_size = given.ranks;
  request.settings.topology.local_world_size = given.ranks_per_host;
  set_capacity(request.settings.topology, 0, 0);
  Subject subject;
  subject.settings = request.settings;
  subject.run = torchrec::given_run(given.plan, given.workload, request);
  subject.notes = {
      "A plan file alone: fp32 pooled tables, one id a sample, batch 512, and TorchRec's default machine are "
      "assumed. Point a scenario at it (plan: {file: ...}) for your own."};
  return subject;
}

torchrec::PlannerOptions options_of(const Case& item) {
  const bool torchrecs = item.plan_file.empty() && item.planner.find("name")->scalar == "torchrec";
  const Tree map = torchrecs ? item.planner : named_map("torchrec");
  MapReader reader(map, "planner");
  reader.name("name");
  return torchrec::read_planner_options(reader);
}

Plan plan_of_case(const Case& item, const Cluster& cluster, std::uint64_t seed) {
  if (!item.plan_file.empty()) {
    Plan plan = read_plan_file(item.plan_file, item.workload, cluster);
    check_plan(plan, item.workload, cluster, item.place);
    return plan;
  }
  const auto memory = make_memory_model(item.memory_model);
  PlannerContext context{*memory, seed, [&] { return simulated_bandwidths(item.workload, cluster); }};
  return make_planner(item.planner)->plan(item.workload, cluster, context);
}

// The plan need not fit: how far it is from fitting is what one may want to know.
Subject of_case(const Case& item, std::uint64_t seed) {
  const Cluster cluster = cluster_of(item);
  torchrec::PlannerOptions options = options_of(item);
  Subject subject;
  if (item.plan_file.empty() && item.planner.find("name")->scalar == "torchrec") {
    const auto memory = make_memory_model(item.memory_model);
    if (options.simulated) subject.notes.push_back("Objective 'estimated' is shown; 'shardsim plan' simulates.");
    options.simulated = false;
    torchrec::Choice choice = torchrec::choose_plan(options, item.workload, cluster, {*memory, seed, {}});
    subject.settings = std::move(choice.request.settings);
    subject.run = std::move(choice.run);
    return subject;
  }
  const torchrec::PlannerRequest request = torchrec::planner_request(options, item.workload, cluster);
  try {
    subject.run = torchrec::given_run(plan_of_case(item, cluster, seed), item.workload, request);
  } catch (const torchrec::PlannerError& error) {
    throw torchrec::as_input_error(error);
  }
  subject.settings = request.settings;
  return subject;
}

void print_torchrec(const Subject& subject, bool json) {
  const torchrec::Statistics statistics = torchrec::statistics_of(subject.run, subject.settings);
  const auto tables = torchrec::explain(subject.run, subject.settings);
  if (json) {
    const Json document = {{"schema", "shardsim.explanation/1"},
                           {"memory_model", "torchrec"},
                           {"statistics", Json::parse(torchrec::statistics_json(statistics))},
                           {"tables", Json::parse(torchrec::explanation_json(tables))}};
    std::fputs((document.dump(1) + "\n").c_str(), stdout);
    return;
  }
  for (const std::string& note : subject.notes) std::fputs((note + "\n\n").c_str(), stdout);
  std::fputs(torchrec::statistics_text(statistics).c_str(), stdout);
  std::fputs("\n", stdout);
  std::fputs(torchrec::explanation_text(tables, subject.settings).c_str(), stdout);
}

// Any other memory model: what each table takes on each rank, at rest and at the peak.
void print_by_model(const Case& item, std::uint64_t seed, bool json) {
  const Cluster cluster = cluster_of(item);
  const Plan plan = plan_of_case(item, cluster, seed);
  const auto model = make_memory_model(item.memory_model);
  std::vector<PlacementMemory> ranks(static_cast<std::size_t>(cluster.world_size()));
  for (const Placement& placement : plan.placements) {
    const auto memory = model->on_ranks(placement, item.workload, cluster);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      ranks[r].static_bytes += memory[r].static_bytes;
      ranks[r].dynamic_bytes += memory[r].dynamic_bytes;
    }
  }
  Json list = Json::array();
  std::string text = fmt::format("{:>6}{:>16}{:>16}{:>16}\n", "Rank", "Static (GB)", "Dynamic (GB)", "HBM (GB)");
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const double all = ranks[r].static_bytes + ranks[r].dynamic_bytes;
    const auto gb = [](double bytes) { return torchrec::decimals_text(bytes / (1 << 30), 3); };
    text += fmt::format("{:>6}{:>16}{:>16}{:>16}\n", r, gb(ranks[r].static_bytes), gb(ranks[r].dynamic_bytes), gb(all));
    list.push_back({{"rank", r}, {"static_bytes", ranks[r].static_bytes}, {"dynamic_bytes", ranks[r].dynamic_bytes}});
  }
  const Json document = {
      {"schema", "shardsim.explanation/1"}, {"memory_model", item.memory_model.find("name")->scalar}, {"ranks", list}};
  std::fputs((json ? document.dump(1) + "\n" : text).c_str(), stdout);
}

}  // namespace

int explain_command(const std::vector<std::string>& arguments, const Terminal&) {
  std::vector<OptionSpec> options = scenario_options();
  options.insert(options.end(), {{"case", 0, true, false}, {"json", 0, false, false}});
  const Arguments given(arguments, options, 1, 1, "shardsim explain PLAN|SCENARIO [options]");
  const std::string& path = given.positional()[0];
  const std::string model = given.value("memory-model").value_or("torchrec");
  if (path.ends_with(".json")) {
    if (model != "torchrec") {
      throw input_error(Arguments::place("memory-model"), "a plan file alone is explained by torchrec's model only",
                        "Point a scenario at the plan (plan: {file: ...})");
    }
    print_torchrec(of_plan_file(path), given.has("json"));
    return 0;
  }
  const Scenario scenario = read_scenario(path, overrides(given));
  const Case& item = chosen_case(scenario, given);
  if (model == "torchrec") {
    print_torchrec(of_case(item, scenario.seed), given.has("json"));
  } else {
    print_by_model(item, scenario.seed, given.has("json"));
  }
  return 0;
}

}  // namespace shardsim
