#include "cli/commands/torchrec_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/workers.h"
#include "cli/commands/shared.h"
#include "plan/memory_model.h"
#include "plan/plan_file.h"
#include "plan/planner.h"
#include "plan/torchrec/report/statistics.h"
#include "plan/torchrec/report/text.h"
#include "study/planning/prepared_case.h"
#include "study/scenario/read_planner.h"

namespace shardsim {
namespace {

// Knows of nothing but Ctrl-C.
class InterruptedHost : public PlannerHost {
 public:
  explicit InterruptedHost(const PlanWatch& watch) : watch_(watch) {}
  void stop_if_asked() const override { throw_if_interrupted(watch_.interrupted); }

 private:
  const PlanWatch& watch_;
};

using Json = nlohmann::ordered_json;

// Holds what a dry run finds on one machine. Bytes and milliseconds of ranks are those of the tables alone.
struct DryRun {
  std::string cluster;
  int nodes = 0;
  int gpus_of_host = 0;                 // of which the world is a part; 0 where it is whole hosts
  std::string failure;                  // why it has no plan; "" where it has
  std::string not_simulated;            // why its plan has no simulation
  double estimate_ms = 0;               // of the busiest rank, which the planner minimises
  double mean_ms = 0;                   // over the ranks
  double comms_ms = 0, compute_ms = 0;  // the critical path
  torchrec::Storage fullest;            // the most of each memory that a rank takes
  std::optional<double> iteration_ms;   // simulated
  Json statistics, plan;                // as `explain --json` and `plan` have them
};

// The scenario's case on another machine. Errors: those of read_scenario(), such as an unknown cluster.
Scenario on_cluster(const Arguments& given, const std::string& cluster,
                    const std::vector<std::pair<std::string, int>>& sizes = {}) {
  Overrides changes = overrides(given);
  changes.set.emplace_back("cluster", cluster);
  for (const auto& [key, size] : sizes) changes.set.emplace_back("cluster." + key, fmt::format("{}", size));
  const std::string as_setting = "argument --set cluster: ";  // nobody has set it
  try {
    return chosen_cases(read_scenario(given.positional()[0], changes), given);
  } catch (const Error& error) {
    const std::string what = error.what();
    if (!what.starts_with(as_setting)) throw;
    throw Error(error.failure(), Arguments::place("dry-run"), what.substr(as_setting.size()), "");
  }
}

// The hosts of a machine that a world of that many GPUs takes, and the keys of the cluster that say so. A world smaller
// than a host takes a part of one. Errors: Failure::input where no whole number of hosts has that many GPUs.
struct Hosts {
  int count = 1;
  std::vector<std::pair<std::string, int>> keys;
};
Hosts hosts_for(const ClusterSpec& spec, int ranks) {
  const bool has_domains = spec.gpus_per_host > 0;  // NVLink joins more hosts than one
  const int per_host = has_domains ? spec.gpus_per_host : spec.gpu.count;
  if (!has_domains && ranks < per_host) return {1, {{"nodes", 1}, {"gpu.count", ranks}}};
  if (ranks % per_host != 0)
    throw input_error({},
                      fmt::format("its hosts have {} GPUs each, and no whole number of them has {}", per_host, ranks),
                      "Plan for another number of GPUs");
  Hosts hosts{ranks / per_host, {{"nodes", ranks / per_host}}};
  if (has_domains && spec.gpu.count > ranks) hosts.keys.emplace_back("nvlink.domain", ranks);  // a part of one
  return hosts;
}

void add_estimate(DryRun& machine, const torchrec::Choice& choice) {
  const torchrec::Statistics statistics = torchrec::statistics_of(choice.run, choice.request.settings);
  machine.estimate_ms = choice.run.rating;
  machine.mean_ms = statistics.mean_total;
  machine.comms_ms = statistics.critical_comms;
  machine.compute_ms = statistics.critical_compute;
  for (const torchrec::RankStatistics& rank : statistics.ranks) {
    machine.fullest = {std::max(machine.fullest.hbm, rank.sparse.hbm), std::max(machine.fullest.ddr, rank.sparse.ddr),
                       std::max(machine.fullest.ssd, rank.sparse.ssd)};
  }
  machine.statistics = Json::parse(torchrec::statistics_json(statistics));
}

// The plan may be one that no simulation can run: it stays a plan of the estimates.
void add_simulation(DryRun& machine, const Scenario& scenario, const Case& item, const Plan& plan) {
  try {
    const Cluster cluster = cluster_of(item);
    check_made_plan(plan, item, cluster);
    machine.iteration_ms = simulated_ms(PreparedCase(scenario, item, cluster, plan_of_world(plan, item, cluster)));
  } catch (const Error& error) {
    machine.not_simulated = error.what();
  }
}

DryRun dry_run_on(const std::string& cluster, int ranks, const Arguments& given, const PlanWatch& watch) {
  DryRun machine;
  machine.cluster = cluster;
  const Scenario as_shipped = on_cluster(given, cluster);
  try {
    const ClusterSpec& spec = as_shipped.cases.front().cluster;
    const Hosts hosts = hosts_for(spec, ranks);
    machine.nodes = hosts.count;
    if (spec.gpus_per_host == 0 && ranks < spec.gpu.count) machine.gpus_of_host = spec.gpu.count;
    const Scenario scenario = on_cluster(given, cluster, hosts.keys);
    const Case& item = scenario.cases.front();
    const torchrec::Choice choice = torchrec_choice(item, torchrec_options(item), scenario.seed, watch);
    add_estimate(machine, choice);
    machine.plan = Json::parse(plan_to_json(choice.plan, item.workload, cluster_of_plan(item)));
    add_simulation(machine, scenario, item, choice.plan);
  } catch (const Error& error) {
    machine.failure = error.what();
  }
  return machine;
}

// Equal ranks differ from their mean by a rounding error, which is none of theirs.
double over_mean_pct(const DryRun& machine) {
  constexpr double kRounding = 1e-9;
  const double pct = machine.mean_ms > 0 ? (machine.estimate_ms / machine.mean_ms - 1) * 100 : 0;
  return pct < kRounding ? 0 : pct;
}

std::vector<std::string> cells_of(const DryRun& machine) {
  const auto ms = [](double value) { return torchrec::decimals_text(value, 3); };
  const auto gib = [](std::int64_t bytes) { return torchrec::decimals_text(torchrec::gigabytes(bytes), 3); };
  if (!machine.failure.empty()) return {machine.cluster, "no plan", "", "", "", "", ""};
  return {machine.cluster,
          ms(machine.estimate_ms),
          ms(machine.comms_ms),
          ms(machine.compute_ms),
          fmt::format("{:.3g} %", over_mean_pct(machine)),
          gib(machine.fullest.hbm),
          machine.iteration_ms ? ms(*machine.iteration_ms) : "-"};
}

std::string text_of(const std::vector<DryRun>& machines, const Case& item, int ranks) {
  const torchrec::PlannerVersion version = torchrec_options(item).run.estimate.version;
  std::string text = fmt::format("Dry run of TorchRec's planner of {} (commit {}) for {} GPUs\n",
                                 torchrec::name_of(version), torchrec::commit_of(version), ranks);
  std::vector<std::vector<std::string>> rows = {
      {"Cluster", "estimate (ms)", "comms (ms)", "compute (ms)", "most over mean", "HBM (GiB)", "simulated (ms)"}};
  for (const DryRun& machine : machines) rows.push_back(cells_of(machine));
  text += torchrec::table_text(rows);
  for (const DryRun& machine : machines) {
    if (machine.gpus_of_host > 0)
      text += wrapped(
          fmt::format("{}: {} of the {} GPUs of a node, with their NICs", machine.cluster, ranks, machine.gpus_of_host),
          100, "  ");
    const std::string& why = machine.failure.empty() ? machine.not_simulated : machine.failure;
    if (!why.empty()) text += wrapped(fmt::format("{}: {}", machine.cluster, why), 100, "  ");
  }
  return text + wrapped(
                    "'estimate' is what the planner minimises, the busiest rank's lookups and exchanges added up; "
                    "'comms' and 'compute' are its critical path; 'HBM' is the fullest rank's tables and buffers by "
                    "the planner's rules; 'simulated' is one whole iteration with the dense part.",
                    100, "");
}

Json machine_json(const DryRun& machine, int ranks) {
  Json json = {{"cluster", machine.cluster}, {"nodes", machine.nodes}, {"ranks", ranks}};
  json["success"] = machine.failure.empty();
  json["failure"] = machine.failure.empty() ? Json(nullptr) : Json(machine.failure);
  if (!machine.failure.empty()) return json;
  json["estimate_ms"] = machine.estimate_ms;
  json["mean_ms"] = machine.mean_ms;
  json["critical_path"] = {{"comms_ms", machine.comms_ms}, {"compute_ms", machine.compute_ms}};
  json["fullest"] = {
      {"hbm_bytes", machine.fullest.hbm}, {"ddr_bytes", machine.fullest.ddr}, {"ssd_bytes", machine.fullest.ssd}};
  json["iteration_ms"] = machine.iteration_ms ? Json(*machine.iteration_ms) : Json(nullptr);
  json["not_simulated"] = machine.not_simulated.empty() ? Json(nullptr) : Json(machine.not_simulated);
  json["statistics"] = machine.statistics;
  json["plan"] = machine.plan;
  return json;
}

Json document_of(const std::vector<DryRun>& machines, const Case& item, int ranks) {
  Json list = Json::array();
  for (const DryRun& machine : machines) list.push_back(machine_json(machine, ranks));
  return {{"schema", "shardsim.dry_run/1"},
          {"case", item.name},
          {"planner_version", torchrec::name_of(torchrec_options(item).run.estimate.version)},
          {"machines", list}};
}

std::vector<std::string> asked_clusters(const Arguments& given) {
  std::vector<std::string> clusters;
  for (const std::string& name : split(given.text("dry-run"), ',')) {
    if (name.empty() || std::ranges::find(clusters, name) != clusters.end()) {
      throw input_error(Arguments::place("dry-run"), name.empty() ? "an empty name" : excerpt(name) + " is named twice",
                        "Name each cluster once, separated by commas");
    }
    clusters.push_back(name);
  }
  return clusters;
}

}  // namespace

bool plans_by_torchrec(const Case& item) {
  return item.plan_file.empty() && item.planner.find("name")->scalar == "torchrec";
}

torchrec::PlannerOptions torchrec_options(const Case& item) {
  Tree map = plans_by_torchrec(item) ? item.planner : named_map("torchrec"), memory = item.memory_model;
  share_torchrec_rules(map, memory);
  MapReader reader(map, "planner");
  reader.name("name");
  return torchrec::read_planner_options(reader);
}

torchrec::Choice torchrec_choice(const Case& item, torchrec::PlannerOptions options, std::uint64_t seed,
                                 const PlanWatch& watch) {
  const auto unsharded = std::ranges::find(item.workload.tables, false, &Table::sharded);
  if (unsharded != item.workload.tables.end())
    throw input_error(unsharded->place,
                      "table '" + unsharded->name + "' is not sharded, and TorchRec's planner alone would place it",
                      "Leave 'sharded: false' out here; run, plan and why know such tables");
  const auto memory = make_memory_model(item.memory_model);
  options.simulated = false;
  const InterruptedHost host(watch);
  const PlannerContext context{*memory, seed, host, item.constraints.by_table.empty() ? nullptr : &item.constraints};
  torchrec::Choice choice = torchrec::choose_plan(options, item.workload, cluster_of_plan(item), context);
  choice.request.settings.check_stop = {};  // which asks the host
  return choice;
}

int dry_run(const Arguments& given, const Terminal& terminal) {
  const std::vector<std::string> clusters = asked_clusters(given);
  refuse_beside_set(overrides(given), given, "dry-run", "cluster");
  for (const char* const option : {"planner", "objective"}) {
    if (!given.has(option)) continue;
    throw input_error(Arguments::place(option), "a dry run is TorchRec's planner by its own estimate",
                      fmt::format("Leave --{} out; --set planner=... changes the planner's options", option));
  }
  const Scenario scenario = asked_scenario(given);
  const Case& item = chosen_case(scenario, given);
  torchrec_options(item);  // which refuses bad options before any machine does
  const int ranks = cluster_of(item).world_size();
  std::vector<DryRun> machines;
  for (const std::string& cluster : clusters) {
    machines.push_back(dry_run_on(cluster, ranks, given, {terminal.interrupted, {}}));
  }
  deliver(given.has("json") ? document_of(machines, item, ranks).dump(1) + "\n" : text_of(machines, item, ranks),
          given);
  const bool any = std::ranges::any_of(machines, [](const DryRun& machine) { return machine.failure.empty(); });
  return any ? 0 : static_cast<int>(Failure::infeasible);
}

}  // namespace shardsim
