#include "sim/lower/program_frame.h"

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

// The nodes themselves, which table_row_wise and grid_shard reduce in.
std::vector<std::vector<int>> nodes_of(const Program& program) {
  std::vector<std::vector<int>> nodes(program.world_size / program.ranks_per_node);
  for (int rank = 0; rank < program.world_size; ++rank) nodes[rank / program.ranks_per_node].push_back(rank);
  return nodes;
}

void add_node_groups(Program& program, const std::vector<std::vector<int>>& sets, const Place& place) {
  if (program.groups.contains("node") && program.groups["node"] != sets) {
    throw input_error(place,
                      "replica groups of flex rows differ from those of another table, or from the nodes in which "
                      "table_row_wise and grid_shard reduce",
                      "Use the same replica_groups for all flex rows, and whole nodes beside those types");
  }
  program.groups["node"] = sets;
  program.groups["cross_node"] = across(sets);
}

void write_groups(Program& program, const Plan& plan, const Workload& workload) {
  program.groups["world"] = {all_ranks(program.world_size)};
  for (const Placement& placement : plan.placements) {
    const Table& table = workload.tables[placement.table];
    const bool reduces =
        table.kind == TableKind::pooled && within_node(placement.strategy) && in_rows(placement.strategy);
    if (placement.strategy == Strategy::flex) add_node_groups(program, placement.holders, table.place);
    if (reduces) add_node_groups(program, nodes_of(program), table.place);
  }
}

MatrixUse add_matrix(Program& program, const std::string& name, const ByteMatrix& bytes) {
  program.matrices.push_back({name, bytes});
  return {static_cast<int>(program.matrices.size()) - 1, false};
}

// The output exchange returns what the exchange of ids asked for: what an owner sends to a source is to the row what
// the source asked of it. So it moves the matrix of the gradients, transposed, or one of its own where the types on the
// wire differ.
MatrixUse add_rows(Program& program, const std::string& name, MatrixUse gradients, const ByteMatrix& rows_by_source) {
  MatrixUse rows = gradients;
  if (!(program.matrices[static_cast<std::size_t>(gradients.index)].bytes == rows_by_source)) {
    rows = add_matrix(program, name + "_rows_by_source", rows_by_source);
  }
  rows.transposed = true;
  return rows;
}

}  // namespace

Program program_frame(const Plan& plan, const Workload& workload, const Cluster& cluster) {
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
  return program;
}

void write_matrices(Program& program, std::vector<FusionGroup>& groups, bool full) {
  for (FusionGroup& group : groups) {
    program.fusions.push_back({group.name, group.kind, group.shards});
    if (!group.exchanges()) continue;
    FusionGroup::Uses& uses = group.uses;
    uses.ids = add_matrix(program, group.name + "_ids", group.ids);
    if (full) uses.lengths = add_matrix(program, group.name + "_lengths", group.lengths);
    if (full && group.weighted) uses.weights = add_matrix(program, group.name + "_weights", group.weights);
    if (!group.reduces()) {
      uses.gradients = add_matrix(program, group.name + "_grads", group.gradients);
      uses.rows = add_rows(program, group.name, uses.gradients, group.rows_by_source);
    }
    if (group.crosses()) {
      const std::string name = group.name + "_cross";
      uses.cross_gradients = add_matrix(program, name + "_grads", group.cross_gradients);
      uses.cross_rows = add_rows(program, name, uses.cross_gradients, group.cross_rows_by_source);
    }
  }
}

}  // namespace shardsim
