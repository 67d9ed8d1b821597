#include "study/schema/specimens.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "plan/planner.h"

namespace shardsim {
namespace {

std::string workload_with(const std::string& more) {
  return "{schema: shardsim.workload/1, name: toy, batch_per_gpu: 32, " + more + "}";
}

std::string scenario_with(const std::string& more) {
  return "{schema: shardsim.scenario/1, cluster: toy_2x4, " + more + "}";
}

std::string toy_scenario() {
  return (data_folder() / "scenarios" / "toy.yaml").string();
}

constexpr const char* kTables =
    "tables: [{name: a, rows: 1000, dim: 8, kind: pooled, pooling_factor: 2}, "
    "{name: b, rows: 1000, dim: 8, kind: sequence, average_length: 4}]";

}  // namespace

std::vector<std::string> workload_specimens() {
  const std::string tables = kTables;
  return {
      workload_with(tables),
      workload_with(tables + ", dense: {layers: [{name: bottom_0, in: 8, out: 8}, {name: over_0, in: 8, out: 1}], "
                             "interaction: {kind: dot}}"),
      workload_with(tables + ", dense: {layers: [{name: a, kind: attention, heads: 2, head_dim: 8, length: 4}]}"),
      workload_with(tables + ", dense: {measured: {rest: 10 ms, split: {id_exchange: {time: 2 ms, reason: x}, "
                             "lookup: {time: 2 ms, reason: x}, dense_forward: {time: 2 ms, reason: x}, "
                             "dense_backward: {time: 2 ms, reason: x}, update: {time: 2 ms, reason: x}}}}"),
      workload_with("tables: [{name: a, rows: 1000, dim: 8, kind: pooled, features: [{name: f, pooling_factor: 2}]}]"),
      workload_with("tables_from: {workload: mixed_pooled_sequence, tables: [0, 1]}"),
      "{schema: shardsim.workload/1, base: mixed_pooled_sequence}"};
}

SpecimenValues workload_values() {
  return {{"base", {"mixed_pooled_sequence"}},
          {"workload", {"mixed_pooled_sequence"}},
          {"tables", {"[0]"}},
          {"features", {"[f]", "[{name: f}]", "[{name: f, pooling_factor: 2}]"}},
          {"knots",
           {"[{rank: 1, ln_p: -1}, {rank: 1000, ln_p: -9}]", "[{fraction: 0.001, ln_p: -1}, {rank: 1000, ln_p: -9}]"}},
          {"p", {"[0.6, 0.4]"}},
          {"rows", {"1000", "[400, 600]"}},
          {"weights", {"[1, 2]"}},
          {"access_share", {"[{rows: 10, share: 0.5}]"}}};
}

namespace {

// The options that a planner cannot do without, for those of which the name is not enough.
std::string needed_options(std::string_view planner) {
  if (planner == "per_table") return ", tables: {'*': greedy}";
  if (planner == "autoshard")
    return fmt::format(", policy: '{}'", (data_folder() / "scenarios/policies/autoshard_tasks.h5").string());
  return "";
}

// Every planner may have a label where planners are compared.
std::string labelled_planners() {
  std::vector<std::string> maps;
  for (const PlannerEntry& planner : planners())
    maps.push_back(fmt::format("{{name: {0}, label: {0}{1}}}", planner.name, needed_options(planner.name)));
  return join(maps);
}

}  // namespace

std::vector<std::string> scenario_specimens() {
  const std::string workload = "workload: toy_history, ";
  const std::string planned = workload + "planner: {name: row_wise}";
  return {scenario_with(planned),
          scenario_with(planned + ", cases: [{name: a, cluster: {base: toy_2x4}, workload: {base: toy_history}}]"),
          scenario_with(workload + "planners: [" + labelled_planners() + "]"),
          scenario_with(workload + "planners: all"),
          scenario_with("jobs: [{name: a, workload: toy_history, planner: {name: row_wise}, nodes: [0]}]"),
          scenario_with(workload + "cases: [{name: a, planner: {name: random}, repeat: 3}], cross_check: {}"),
          scenario_with(
              "cases: [{name: a, jobs: [{name: a, workload: toy_history, planner: {name: row_wise}, nodes: [0]}]}]"),
          "{schema: shardsim.scenario/1, seed: 7, include: ['" + toy_scenario() + "']}",
          scenario_with(planned + ", drift: {days: 2, growth: 1 %/day}"),
          scenario_with(planned + ", sweep: {axes: {cluster.nodes: [1, 2]}}"),
          scenario_with(planned + ", cases: [{name: a}, {name: b, relative_to: a, published: [{quantity: "
                                  "throughput_gain, value: 5 %, role: predicted, source: x}, {quantity: memory_saved, "
                                  "value: 1 GiB, role: predicted, source: x}]}]")};
}

SpecimenValues scenario_values() {
  const std::vector<std::string> axes{"{cluster.nodes: [1, 2]}", "{cluster.nodes: {from: 1, to: 2, step: 1}}",
                                      "{cluster.nodes: {from: 1, to: 2, factor: 2}}",
                                      "{cluster.nodes: {from: 1, to: 2, points: 2, scale: log}}"};
  return {{"cluster", {"toy_2x4", "{base: toy_2x4}"}},
          {"workload", {"toy_history", "{base: toy_history}"}},
          {"planner", {"{name: row_wise}"}},
          {"planners", {"all", "[greedy]", "[{name: greedy, label: x}]"}},
          {"plan", {"{file: x}"}},
          {"title", {"x"}},
          {"seed", {"7"}},
          {"cases", {"[{name: a}]"}},
          {"cross_check", {"{}"}},
          {"repeat", {"3"}},
          {"relative_to", {"a"}},
          {"case", {"main"}},
          {"tables", {"'*'"}},
          {"compute_model", {"{name: roofline}"}},
          {"memory_model", {"{name: paper}"}},
          {"network", {"{name: closed_form}"}},
          {"software", {"torchrec_eager", "{name: torchrec_eager}"}},
          {"constraints", {"{'*': {}}"}},
          {"collectives", {"{all_to_all: direct}"}},
          {"jobs", {"[{name: a, workload: toy_history, planner: {name: row_wise}, nodes: [0]}]"}},
          {"nodes", {"0", "[0]", "0-1"}},
          {"set", {"{cluster.nodes: 1}"}},
          {"load", {"{}"}},
          {"drift", {"{days: 2, growth: 1 %/day}"}},
          {"include", {"['" + toy_scenario() + "']"}},
          {"sweep", {"{axes: {cluster.nodes: [1, 2]}}"}},
          {"axes", axes},
          {"zip", {axes[0], "[" + axes[0] + "]"}},
          {"random", {"{points: 2, axes: " + axes[0] + "}", "{points: 2, axes: {cluster.nodes: {from: 1, to: 2}}}"}},
          {"where", {"cluster.nodes > 1", "[cluster.nodes > 1]"}},
          {"quantity", {"iteration", "rows:row_wise", "throughput_gain"}},
          {"value", {"5 ms", "5", "5 %"}},
          {"published", {"[{quantity: iteration, value: 5 ms, role: predicted, source: x}]"}}};
}

}  // namespace shardsim
