#include "sim/program_frame.h"

#include <algorithm>

namespace shardsim {
namespace {

int tier_of(const Plan& plan, const Placement& placement) {
  return static_cast<int>(std::count_if(plan.placements.begin(), plan.placements.end(), [&](const Placement& other) {
    return other.table == placement.table && other.column_begin == placement.column_begin &&
           other.row_begin < placement.row_begin;
  }));
}

void write_shards(Program& program, const Plan& plan, const Workload& workload) {
  for (const Placement& placement : plan.placements) {
    Program::Shard shard;
    shard.table = placement.table;
    shard.strategy = placement.strategy;
    shard.row_begin = placement.row_begin;
    shard.row_end = placement.row_end;
    shard.column_begin = placement.column_begin;
    shard.column_end = placement.column_end;
    shard.holders = placement.holders;
    if (placement.rows() < workload.tables[placement.table].rows) shard.tier = tier_of(plan, placement);
    program.shards.push_back(shard);
  }
}

// Ranks that hold the same shard in each replica group: they all-reduce its gradient.
std::vector<std::vector<int>> across(const std::vector<std::vector<int>>& replica_groups) {
  std::vector<std::vector<int>> groups(replica_groups.front().size());
  for (const std::vector<int>& replicas : replica_groups) {
    for (std::size_t position = 0; position < replicas.size(); ++position) {
      groups[position].push_back(replicas[position]);
    }
  }
  return groups;
}

void write_groups(Program& program, const Plan& plan, const Workload& workload) {
  program.groups["world"] = {all_ranks(program.world_size)};
  for (const Placement& placement : plan.placements) {
    if (placement.strategy != Strategy::flex) continue;
    if (program.groups.contains("node") && program.groups["node"] != placement.holders) {
      throw input_error(workload.tables[placement.table].place,
                        "flex rows of several tables have different replica groups",
                        "Use the same replica_groups for all of them");
    }
    program.groups["node"] = placement.holders;
    program.groups["cross_node"] = across(placement.holders);
  }
}

// The output exchange returns what the exchange of ids asked for, so it is written as a transpose: what an owner sends
// to a source is to the row what the source asked of it.
void write_matrices(Program& program, const std::vector<FusionGroup>& groups) {
  for (const FusionGroup& group : groups) {
    if (!group.exchanges()) continue;
    program.matrices[group.prefix + "_ids"] = group.ids;
    program.matrices[group.prefix + "_grads"] = group.gradients;
    std::string back = group.prefix + "_grads";
    if (!(group.gradients == group.rows_by_source)) {  // another dtype on the wire forward than backward
      back = group.prefix + "_rows_by_source";
      program.matrices[back] = group.rows_by_source;
    }
    program.transpose_of[group.prefix + "_rows"] = back;
  }
}

}  // namespace

Program program_frame(const Plan& plan, const Workload& workload, const Cluster& cluster,
                      const std::vector<FusionGroup>& groups) {
  Program program;
  program.world_size = cluster.world_size();
  program.ranks_per_node = cluster.ranks_per_node();
  program.batch_per_rank = workload.batch_per_gpu;
  program.hash_seed = plan.hash_seed;
  program.id_bytes = workload.id_bytes;
  program.tables = workload.tables;
  program.streams = {"compute"};
  write_shards(program, plan, workload);
  write_groups(program, plan, workload);
  write_matrices(program, groups);
  return program;
}

}  // namespace shardsim
