#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/module.h"
#include "base/tree/yaml.h"
#include "base/workers.h"
#include "models/compute/compute_model.h"
#include "plan/check.h"
#include "plan/planner.h"
#include "program/timeline/timeline.h"
#include "sim/engine/engine.h"
#include "sim/engine/network.h"
#include "sim/lower/lower.h"
#include "study/planning/prepared_case.h"
#include "study/run/study.h"
#include "study/scenario/scenario.h"
#include "tests/plan/hand_context.h"

// Tools of the physics tests: programs simulated in processes of their own (SimGrid allows one engine per process),
// shipped scenarios, and byte counts taken pair by pair.
namespace shardsim::physics {

// Returns the result of `work`, run in a process of its own. SimGrid is loaded before the first of them: its sixty
// libraries take longer to load than most programs to simulate. If it cannot be loaded, the code that asks for it gets
// the reason.
inline std::string in_process(const std::function<std::string()>& work) {
  static std::string why;
  [[maybe_unused]] static const Module simgrid = load_module("shardsim_simgrid.so", "shardsim_simgrid_run", why);
  return run_in_workers({{"physics", work}}, {})[0];
}

// Returns the result of `work`, which simulates a Program on that network. `fair_queues`, where each of its transfers
// loads one link, is our own and needs no process of its own, which would take longer to start than most simulations
// here take.
inline std::string on_network(const std::string& network, const std::function<std::string()>& work) {
  return network == "fair_queues" ? work() : in_process(work);
}

// Relative distance. (doctest's Approx adds 1 to the scale, which is nothing to compare microseconds with.)
inline double off(double value, double expected) {
  return std::abs(value - expected) / std::abs(expected);
}

inline Tree named(const std::string& name) {
  return parse_yaml("{name: " + name + "}", "test");
}

inline Timeline simulated(const Program& program, const Cluster& cluster, const std::string& network = "fair_queues",
                          const EngineOptions& options = {}) {
  return timeline_from_bytes(on_network(network, [&] {
    const auto compute = make_compute_model(named("roofline"));
    const auto engine = make_network(named(network));
    return to_bytes(simulate(program, cluster, *compute, *engine, options).timeline);
  }));
}

inline std::string shipped_path(const std::string& name) {
  return SHARDSIM_SOURCE_DIR "/scenarios/" + name;
}

inline ClusterSpec cluster_spec(const std::string& file, int nodes = 0) {
  ClusterSpec spec = read_cluster(load_named("clusters/" + file, "clusters", SHARDSIM_SOURCE_DIR "/scenarios", {}));
  if (nodes > 0) spec.nodes = nodes;
  return spec;
}

// The plan of a case of a shipped scenario. Two tests go through all of them, and to plan them takes as long as to
// simulate them, so a plan is kept for the second.
inline const Plan& shipped_plan(const Scenario& scenario, const Case& item, const Cluster& cluster) {
  static std::map<std::pair<std::string, std::string>, Plan> plans;
  const std::pair key{scenario.path, item.name};
  const auto found = plans.find(key);
  if (found != plans.end()) return found->second;
  return plans.emplace(key, make_plan(item, cluster, scenario.seed, {})).first->second;
}

// Paths of all shipped scenarios but those that include others: their cases are the others'.
inline std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(shipped_path("")))
    if (entry.path().extension() == ".yaml" && read_file(entry.path().string()).find("\ninclude:") == std::string::npos)
      paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

inline Workload shipped_workload(const std::string& file) {
  return read_workload(load_named("workloads/" + file, "workloads", SHARDSIM_SOURCE_DIR "/scenarios", {}), "");
}

// The plan of a planner (`options` as in a scenario), whether it fits the devices or not.
inline Plan planned(const std::string& options, const Workload& workload, const Cluster& cluster) {
  const auto memory = make_memory_model(named("paper"));
  HandContext context{*memory, 7};
  context.simulated_bandwidths = [&] { return simulated_bandwidths(workload, cluster); };
  Plan plan = make_planner(parse_yaml(options, "test"))->plan(workload, cluster, context);
  check_plan(plan, workload, cluster, Place{"test"});
  return plan;
}

// Every owner of rows gets as many lookups as any other, so that all ranks do the same, and byte counts can be taken by
// hand.
inline LoweringOptions even_rows(bool observed_payload = false) {
  return {observed_payload, true, {.row_shares = LoadOptions::RowShares::even}, {}};
}

inline Program lowered(const std::string& planner, const Workload& workload, const Cluster& cluster,
                       const LoweringOptions& options = {}) {
  Program program = lower(planned(planner, workload, cluster), workload, cluster, options);
  check_program(program, Place{"test"});
  return program;
}

inline const std::vector<std::string>& every_planner() {
  static const std::vector<std::string> planners = {"{name: row_wise}",
                                                    "{name: column_wise}",
                                                    "{name: table_wise}",
                                                    "{name: data_parallel}",
                                                    "{name: flex}",
                                                    "{name: flexshard_2tier}",
                                                    "{name: flexshard_3tier}",
                                                    "{name: table_row_wise}",
                                                    "{name: table_column_wise, min_partition: 32}",
                                                    "{name: grid_shard, min_partition: 32}"};
  return planners;
}

// One collective over the whole world, again and again.
inline Program only_collective(const Cluster& cluster, OpClass op_class, const ByteMatrix& matrix,
                               std::int64_t bytes = 0) {
  Program program;
  program.world_size = cluster.world_size();
  program.ranks_per_node = cluster.ranks_per_node();
  program.batch_per_rank = 1;
  program.streams = {"world"};
  program.groups = {{"world", {all_ranks(cluster.world_size())}}};
  Op op;
  op.name = "collective";
  op.op_class = op_class;
  op.group = "world";
  op.dtype = "fp32";
  op.bytes = bytes;
  if (op_class == OpClass::all_to_all) {
    program.matrices = {{"m", matrix}};
    op.matrix.index = 0;
  }
  program.ops = {op};
  return program;
}

inline ByteMatrix even_matrix(std::int64_t bytes_per_rank) {
  return {ByteMatrix::Kind::even, 1, {bytes_per_rank}, {}, false};
}

// Bytes of one all-to-all, pair by pair: everything, what leaves a rank, what leaves a node.
struct PairBytes {
  std::int64_t total = 0, wire = 0, off_node = 0;
  std::vector<std::int64_t> sent, received;  // [rank of the world], own chunk included
  bool operator==(const PairBytes&) const = default;
};

inline PairBytes pair_bytes(const Program& program, const Op& op, const ByteMatrix& matrix) {
  PairBytes bytes;
  bytes.sent.resize(program.world_size);
  bytes.received.resize(program.world_size);
  for (const std::vector<int>& group : program.groups.at(op.group)) {
    const int members = static_cast<int>(group.size());
    for (int a = 0; a < members; ++a) {
      for (int b = 0; b < members; ++b) {
        const std::int64_t moved = matrix.bytes_between(a, b, members);
        bytes.total += moved;
        if (a != b) bytes.wire += moved;
        if (group[a] / program.ranks_per_node != group[b] / program.ranks_per_node) bytes.off_node += moved;
        bytes.sent[group[a]] += moved;
        bytes.received[group[b]] += moved;
      }
    }
  }
  return bytes;
}

// The content of an all_to_all, by its fusion group and role: "rw_ids", "flex_rows", "pooled_gs_cross_grads".
inline std::string carried(const Program& program, const Op& op) {
  if (op.fusion < 0) return "";
  const std::string name = program.fusions[static_cast<std::size_t>(op.fusion)].name;
  const std::string vectors =
      program.fusions[static_cast<std::size_t>(op.fusion)].kind == TableKind::pooled && op.group == "cross_node"
          ? name + "_cross"
          : name;
  switch (op.role) {
    case OpRole::exchange_lengths:
      return name + "_lengths";
    case OpRole::exchange_ids:
      return name + "_ids";
    case OpRole::exchange_weights:
      return name + "_weights";
    case OpRole::exchange_output:
      return vectors + "_rows";
    case OpRole::exchange_gradient:
      return vectors + "_grads";
    default:
      return "";
  }
}

// The operations of one name, in order.
inline std::vector<const Op*> ops_named(const Program& program, const std::string& name) {
  std::vector<const Op*> found;
  for (const Op& op : program.ops) {
    if (op.name == name) found.push_back(&op);
  }
  return found;
}

inline const Op& only_op(const Program& program, const std::string& name) {
  const std::vector<const Op*> found = ops_named(program, name);
  REQUIRE(found.size() == 1);
  return *found.front();
}

inline std::vector<const Op*> ops_in(const Program& program, OpRole role) {
  std::vector<const Op*> found;
  for (const Op& op : program.ops)
    if (op.role == role) found.push_back(&op);
  return found;
}

// The first one in that role; null where there is none.
inline const Op* first_in(const Program& program, OpRole role) {
  const auto found = std::ranges::find(program.ops, role, &Op::role);
  return found == program.ops.end() ? nullptr : &*found;
}

inline std::string stream_of(const Program& program, const Op& op) {
  return program.streams[static_cast<std::size_t>(op.stream)];
}

// In the same iteration, at once or through operations between.
inline bool waits_for(const Program& program, const Op& op, int id) {
  return std::ranges::any_of(op.after,
                             [&](int each) { return each == id || waits_for(program, program.op(each), id); });
}

}  // namespace shardsim::physics
