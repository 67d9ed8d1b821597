#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/yaml.h"
#include "plan/check.h"
#include "plan/planner.h"
#include "sim/lower.h"
#include "sim/program_file.h"
#include "sim/scenario.h"
#include "validate/execute/fusion.h"

// Programs to execute in tests: the worked one of docs/formats.md, and small workloads lowered with any planner.
namespace shardsim::sample {

inline Program toy_program() {
  return read_program_file(SHARDSIM_SOURCE_DIR "/tests/sim/data/toy_program.json");
}

inline const std::vector<std::string>& planners() {
  static const std::vector<std::string> options = {
      "{name: column_wise, min_partition: 32}",
      "{name: data_parallel}",
      "{name: flex}",
      "{name: flexshard_2tier, memory_budget: 0 B}",
      "{name: flexshard_3tier, memory_budget: 0 B, cut: paper, flex_stop: 'off'}",
      "{name: row_wise}",
      "{name: table_wise}",
  };
  return options;
}

// Tables as YAML list items, batch 16.
inline Workload workload(const std::string& tables, const std::string& pipeline = "none") {
  const std::string text =
      "schema: shardsim.workload/1\nname: sample\nbatch_per_gpu: 16\npipeline: " + pipeline + "\ntables:\n" + tables;
  return read_workload(parse_yaml(text, "sample"), "");
}

inline const std::string kTwoTables =
    "  - {name: a, rows: 1000, dim: 64, kind: sequence, average_length: 5, access: {family: zipf, s: 1}}\n"
    "  - {name: b, rows: 600, dim: 64, kind: sequence, average_length: 3, access: {family: zipf, s: 0.8}}\n";

inline const std::string kTwoDims =
    "  - {name: a, rows: 1000, dim: 64, kind: sequence, average_length: 5, access: {family: zipf, s: 1}}\n"
    "  - {name: b, rows: 600, dim: 96, kind: sequence, average_length: 3, access: {family: zipf, s: 0.8}}\n";

// On toy_2x4: 2 nodes of 4 ranks.
inline Program lowered(const std::string& planner, const Workload& workload, bool overlap = true) {
  const Tree tree = load_named("toy_2x4", "clusters", SHARDSIM_SOURCE_DIR "/scenarios", {});
  const Cluster cluster(read_cluster(tree));
  const auto memory = make_memory_model(parse_yaml("{name: paper}", "sample"));
  const Plan plan =
      make_planner(parse_yaml(planner, "sample"))->plan(workload, cluster, PlannerContext{*memory, 7, {}});
  check_plan(plan, workload, cluster, Place{"sample"});
  Program program = lower(plan, workload, cluster, {.observed_payload = false, .overlap = overlap});
  program.seed = 7;
  check_program(program, Place{"sample"});
  return program;
}

inline std::vector<Fusion> fusions(const Program& program) {
  ProgramPlaces places;
  places.program.source = "here";
  return fusions_of(program, places);
}

}  // namespace shardsim::sample
