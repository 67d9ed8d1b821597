#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/explained_plan.h"
#include "cli/scenario_arguments.h"
#include "plan/memory_model.h"
#include "plan/torchrec/explanation.h"
#include "plan/torchrec/number_text.h"
#include "plan/torchrec/statistics_text.h"
#include "sim/study.h"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

Json unsized_json(const std::vector<UnsizedTable>& tables) {
  Json list = Json::array();
  for (const UnsizedTable& table : tables) {
    list.push_back({{"fqn", table.fqn},
                    {"sharding_type", table.sharding_type},
                    {"compute_kernel", table.compute_kernel},
                    {"ranks", table.ranks}});
  }
  return list;
}

void print_torchrec(const ExplainedPlan& subject, bool json) {
  const torchrec::Statistics statistics = torchrec::statistics_of(subject.run, subject.settings);
  const auto tables = torchrec::explain(subject.run, subject.settings);
  if (json) {
    Json document = {{"schema", "shardsim.explanation/1"},
                     {"memory_model", "torchrec"},
                     {"statistics", Json::parse(torchrec::statistics_json(statistics))},
                     {"tables", Json::parse(torchrec::explanation_json(tables))}};
    if (!subject.unsized.empty()) document["tables_of_unknown_size"] = unsized_json(subject.unsized);
    std::fputs((document.dump(1) + "\n").c_str(), stdout);
    return;
  }
  for (const std::string& note : subject.notes) std::fputs((note + "\n\n").c_str(), stdout);
  std::fputs(torchrec::statistics_text(statistics).c_str(), stdout);
  std::fputs("\n", stdout);
  std::fputs(torchrec::explanation_text(tables, subject.settings).c_str(), stdout);
}

Plan plan_or_failure(const Case& item, const Cluster& cluster, std::uint64_t seed) {
  try {
    return plan_of_case(item, cluster, seed);
  } catch (const Error& error) {
    throw in_case(item, error);
  }
}

// Any other memory model: what each table takes on each rank, at rest and at the peak.
void print_by_model(const Case& item, std::uint64_t seed, bool json) {
  const Cluster cluster = cluster_of(item);
  const Plan plan = plan_or_failure(item, cluster, seed);
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

void require_plan_file_alone(const Arguments& given) {
  for (const char* name : {"case", "seed", "set"}) {
    if (!given.has(name)) continue;
    throw input_error(
        Arguments::place(name), "a plan file alone has no case, seed or value to change",
        fmt::format("Leave --{} out, or explain a scenario that names the plan (plan: {{file: ...}})", name));
  }
  if (given.value("memory-model").value_or("torchrec") != "torchrec") {
    throw input_error(Arguments::place("memory-model"), "a plan file alone is explained by torchrec's model only",
                      "Point a scenario at the plan (plan: {file: ...})");
  }
}

}  // namespace

int explain_command(const std::vector<std::string>& arguments, const Terminal&) {
  std::vector<OptionSpec> options = scenario_options();
  options.insert(options.end(), {{"case", 0, true, false}, {"json", 0, false, false}});
  const Arguments given(arguments, options, 1, 1, "shardsim explain PLAN|SCENARIO [options]");
  const std::string& path = given.positional()[0];
  const std::string model = given.value("memory-model").value_or("torchrec");
  if (path.ends_with(".json")) {
    require_plan_file_alone(given);
    print_torchrec(explained_plan_file(path), given.has("json"));
    return 0;
  }
  const Scenario scenario = read_scenario(path, overrides(given));
  const Case& item = chosen_case(scenario, given);
  if (model == "torchrec") {
    print_torchrec(explained_case(item, scenario.seed), given.has("json"));
  } else {
    print_by_model(item, scenario.seed, given.has("json"));
  }
  return 0;
}

}  // namespace shardsim
