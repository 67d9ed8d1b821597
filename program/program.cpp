#include "program/program.h"

#include <algorithm>
#include <cmath>

namespace shardsim {

ByteMatrix resolve_matrix(const Program& program, const MatrixUse& use, std::size_t set) {
  ByteMatrix matrix = program.matrices[static_cast<std::size_t>(use.of_set(set))].bytes;
  if (use.transposed) matrix.transposed = !matrix.transposed;
  return matrix;
}

std::vector<int> ops_in_role(const Program& program, int fusion, OpRole role) {
  std::vector<int> ids;
  for (const Op& op : program.ops) {
    if (op.fusion == fusion && op.role == role) ids.push_back(op.id);
  }
  return ids;
}

std::vector<int> Program::ranks_of(const Op& op) const {
  return op.ranks.empty() ? all_ranks(world_size) : op.ranks;
}

InputTurns::InputTurns(const Program& program) : of_fusion_(program.fusions.size(), 0) {
  for (const Op& op : program.ops) {
    if (op.role == OpRole::recat) ends_.push_back(op.id);
    if (op.role == OpRole::prefetch_rows && ends_.size() > 1) ends_.back() = op.id;
  }
  if (ends_.size() < 2) {
    ends_ = {static_cast<int>(program.ops.size())};
    return;
  }
  for (const Op& op : program.ops)
    if (op.role == OpRole::exchange_ids) of_fusion_[static_cast<std::size_t>(op.fusion)] = of(op);
}

int InputTurns::of(const Op& op) const {
  const bool on_input = op.role != OpRole::none && op.role <= OpRole::prefetch_rows;
  if (!on_input) return of_fusion(op.fusion);
  const auto end = std::ranges::lower_bound(ends_, op.id);
  return std::min(static_cast<int>(end - ends_.begin()), count() - 1);
}

int InputTurns::of_fusion(int fusion) const {
  return fusion < 0 ? 0 : of_fusion_[static_cast<std::size_t>(fusion)];
}

const Table& table_of(const Program& program, const Program::Shard& shard) {
  return program.tables[static_cast<std::size_t>(shard.table)];
}

RowOwners row_owners(const Program& program, const Program::Shard& shard) {
  const RowOrder order = shard.order == "row_id" ? RowOrder::random : RowOrder::popularity;
  return {shard.rows(), shard.shards(), order, shard.cut, row_hash(program, shard), shard.bucket_rows};
}

std::int64_t rows_of_piece(const Program::Shard& shard, int position) {
  if (shard.cut == RowCut::hashed) return static_cast<std::int64_t>(shard.shard_rows(position));
  const RowOwners owners(shard.rows(), shard.shards(), RowOrder::popularity, shard.cut, {}, shard.bucket_rows);
  return static_cast<std::int64_t>(owners.rows_of(position));
}

RowHash row_hash(const Program& program, const Program::Shard& shard) {
  const Table& table = table_of(program, shard);
  return {row_key(table), program.hash_seed, std::max(shard.tier, 0), joined_rows(table, shard.row_end)};
}

double items_of(const Program& program, const Program::Shard& shard) {
  const Table& table = program.tables[static_cast<std::size_t>(shard.table)];
  const double per_sample = table.distribution().sum(shard.row_begin, shard.row_end);
  return std::floor(batch_of(table, program.batch_per_rank) * per_sample + 0.5);
}

std::size_t sources_of(const Program& program, const Program::Shard& shard) {
  return static_cast<std::size_t>(program.world_size) / shard.holders.size();
}

double lookups_of_set(const Program& program, const Program::Shard& shard) {
  return items_of(program, shard) * static_cast<double>(sources_of(program, shard));
}

std::vector<double> lookups_of(const Program& program, const Program::Shard& shard) {
  if (!shard.lookups.empty()) return {shard.lookups.begin(), shard.lookups.end()};
  const std::size_t holders = shard.holders.front().size();
  if (shard.strategy == Strategy::data_parallel) return std::vector<double>(holders, items_of(program, shard));
  const auto owners = std::min<double>(shard.shards(), static_cast<double>(shard.rows()));
  std::vector<double> lookups(holders, lookups_of_set(program, shard) / owners);
  std::fill(lookups.begin() + static_cast<std::ptrdiff_t>(owners), lookups.end(), 0.0);
  return lookups;
}

}  // namespace shardsim
