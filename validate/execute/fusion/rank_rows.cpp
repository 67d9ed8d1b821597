#include "validate/execute/fusion/rank_rows.h"

#include <algorithm>

#include "base/error.h"
#include "program/program.h"

namespace shardsim {
int row_shard_of(const Program::Shard& shard, int rank) {
  for (const std::vector<int>& set : shard.holders) {
    const auto holder = std::ranges::find(set, rank);
    if (holder == set.end()) continue;
    return shard.strategy == Strategy::data_parallel ? 0 : static_cast<int>(holder - set.begin());
  }
  return -1;
}

int holders_of(const Program::Shard& shard, int rank) {
  const auto holds = [rank](const std::vector<int>& set) { return std::ranges::find(set, rank) != set.end(); };
  return static_cast<int>(std::ranges::find_if(shard.holders, holds) - shard.holders.begin());
}

bool averaged(const Program::Shard& shard) {
  return shard.holders.size() > 1 && shard.strategy != Strategy::flex && shard.strategy != Strategy::data_parallel;
}

bool averaged(const Program& program, const Fusion& fusion) {
  return averaged(program.shard(fusion.shards.front()));
}

std::int64_t row_shard_rows(const Program::Shard& shard, int position) {
  return rows_of_piece(shard, position);
}

int row_shards(const Program::Shard& shard) {
  return shard.shards();
}

RowOwner row_owner(const Program& program, const Program::Shard& shard, std::uint64_t position) {
  const std::uint64_t offset = position - shard.row_begin;
  if (shard.strategy == Strategy::data_parallel) return {0, offset};
  if (shard.cut != RowCut::hashed || shard.order != "row_id") return row_owners(program, shard).at(offset);
  const RowHash hash = row_hash(program, shard);  // balanced blocks of row ids
  return owner_of(offset, shard.rows(), row_shards(shard), hash_key(hash.table, hash.seed, 1));
}

const RankRows::Part& RankRows::part_of(std::int64_t row) const {
  const auto after = std::ranges::upper_bound(parts, row, {}, &Part::first_row);
  if (row < 0 || row >= rows || after == parts.begin()) {
    throw run_error("a row outside the rank's rows was asked for", "Please report this as a bug.");
  }
  // A part without rows begins where the next one does; the last of those that begin here has the row.
  return *std::prev(after);
}

bool on_host(const Program& program, const Fusion::Part& part) {
  return std::ranges::any_of(program.op(part.lookup).host_bytes.values, [](double bytes) { return bytes > 0; });
}

RankRows rank_rows(const Program& program, const Fusion& fusion, int rank) {
  std::vector<int> hosted;
  for (const Fusion::Part& part : fusion.parts) {
    if (on_host(program, part)) hosted.insert(hosted.end(), part.shards.begin(), part.shards.end());
  }
  RankRows held;
  for (const int index : fusion.shards) {
    const Program::Shard& shard = program.shard(index);
    const int position = row_shard_of(shard, rank);
    if (position < 0) continue;
    RankRows::Part part;
    part.shard = index;
    part.position = position;
    part.copy = holders_of(shard, rank);
    part.first_row = held.rows;
    part.rows = row_shard_rows(shard, position);
    part.dim = shard.columns();
    part.on_host = std::ranges::find(hosted, index) != hosted.end();
    std::int64_t& elements = part.on_host ? held.host_elements : held.elements;
    part.first_element = elements;
    held.rows += part.rows;
    elements += part.rows * part.dim;
    held.parts.push_back(part);
  }
  return held;
}

Seat seat_of(const Program& program, const Op& op, int rank) {
  const std::vector<std::vector<int>>& sets = program.groups.at(op.group);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    const auto found = std::find(sets[set].begin(), sets[set].end(), rank);
    if (found != sets[set].end()) return {sets[set], static_cast<int>(found - sets[set].begin()), set};
  }
  return {};
}

std::vector<int> set_of(const Program& program, int op, int rank) {
  return op < 0 ? std::vector<int>{rank} : seat_of(program, program.op(op), rank).ranks;
}

CollectiveBytes collective_bytes(const Program& program, const Op& op, int rank) {
  const Seat seat = seat_of(program, op, rank);
  if (op.op_class != OpClass::all_to_all) return {op.bytes_of_set(seat.set), op.bytes_of_set(seat.set)};
  const int members = static_cast<int>(seat.ranks.size());
  const ByteMatrix matrix = resolve_matrix(program, op.matrix, seat.set);
  return {matrix.bytes_sent(seat.position, members), matrix.bytes_received(seat.position, members)};
}

double value_on(const Program& program, const Op& op, const PerRank& values, int rank) {
  const std::vector<int> ranks = program.ranks_of(op);
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() ? 0 : values.at(static_cast<std::size_t>(found - ranks.begin()));
}

bool takes_part(const Program& program, const Op& op, int rank) {
  if (op.is_collective()) return !seat_of(program, op, rank).ranks.empty();
  const std::vector<int> ranks = program.ranks_of(op);
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace shardsim
