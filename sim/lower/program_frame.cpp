#include "sim/lower/lowering.h"

namespace shardsim {
namespace {

void write_shards(Program& program, const Plan& plan, const Workload& workload) {
  for (std::size_t index = 0; index < plan.placements.size(); ++index) {
    const Placement& placement = plan.placements[index];
    Program::Shard shard{placement};
    shard.compute_kernel = Placement{}.compute_kernel;
    shard.cache_load_factor = Placement{}.cache_load_factor;
    if (placement.rows() < workload.tables[placement.table].rows) shard.tier = tier_of(plan, index);
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
    throw input_error(
        place,
        "the replica groups of flex rows differ from those of another table, or are not the nodes within which "
        "table_row_wise and grid_shard reduce",
        "Use the same replica_groups for all flex rows, and whole nodes together with those sharding types");
  }
  program.groups["node"] = sets;
  program.groups["cross_node"] = across(sets);
}

void write_groups(Program& program, const Plan& plan, const Workload& workload) {
  program.groups["world"] = {all_ranks(program.world_size)};
  for (const Placement& placement : plan.placements) {
    const Table& table = workload.tables[placement.table];
    const bool in_nodes = within_node(placement.strategy) ||
                          (placement.strategy == Strategy::row_wise && workload.output_exchange == "hierarchical");
    const bool reduces = table.kind == TableKind::pooled && in_nodes && in_rows(placement.strategy);
    if (placement.strategy == Strategy::flex) add_node_groups(program, placement.holders, table.place);
    if (reduces) add_node_groups(program, nodes_of(program), table.place);
  }
}

// By which hash the rows of cut tables get their owners.
void place_rows(Program& program, const Plan& plan, const LoweringOptions& options) {
  program.hash_seed = options.row_draw ? static_cast<std::uint64_t>(*options.row_draw)
                                       : options.load.placement.value_or(plan.hash_seed);
  if (options.row_draw) return;
  for (Table& table : program.tables) table.row_key.clear();
}

}  // namespace

Program program_frame(const Plan& plan, const Workload& workload, const Cluster& cluster,
                      const LoweringOptions& options) {
  Program program;
  program.world_size = cluster.world_size();
  program.ranks_per_node = cluster.ranks_per_node();
  program.batch_per_rank = workload.batch_per_gpu;
  program.id_bytes = workload.id_bytes;
  program.tables = workload.tables;
  for (Table& table : program.tables) {  // what plan files and exchanges say of them
    table.module.clear();
    table.wire_forward = table.wire_backward = std::nullopt;
  }
  place_rows(program, plan, options);
  program.streams = {"compute"};
  write_shards(program, plan, workload);
  write_groups(program, plan, workload);
  return program;
}

}  // namespace shardsim
