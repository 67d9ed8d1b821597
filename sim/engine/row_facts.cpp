#include "sim/engine/row_facts.h"

#include <algorithm>

namespace shardsim {
namespace {

// Bytes of a row, from a lookup that reads rows and writes vectors as wide (docs/lowering.md, bytes in device memory).
double bytes_of_row(const Op& lookup, std::size_t position) {
  const double read = lookup.lookups.at(position);
  const double written = lookup.pooled ? lookup.bags.at(position) : read;
  if (lookup.host_bytes.at(position) > 0 || !(read + written > 0)) return 0;
  return lookup.hbm_bytes.at(position) / (read + written);
}

// Of each different row: what is left of the update's traffic beside a gradient per lookup.
double bytes_of_update(const Op& update, std::size_t position, double row) {
  const double distinct = update.distinct_rows.at(position);
  if (!(distinct > 0)) return 0;
  return std::max(0.0, (update.hbm_bytes.at(position) - row * update.lookups.at(position)) / distinct);
}

}  // namespace

RowFacts::RowFacts(const Program& program) : program_(program) {
  for (const Op& op : program.ops) {
    if (op.shards.empty()) continue;
    Pair& pair = by_shards_[op.shards];
    if (op.op_class == OpClass::lookup && pair.lookup == nullptr) pair.lookup = &op;
    const bool is_by_lookups = std::ranges::any_of(op.lookups.values, [](double each) { return each > 0; });
    if (op.op_class == OpClass::update && is_by_lookups && pair.update == nullptr) pair.update = &op;
  }
}

RowFacts::OfOp RowFacts::of(const Op& op) const {
  OfOp facts;
  const auto found = op.shards.empty() ? by_shards_.end() : by_shards_.find(op.shards);
  if (found == by_shards_.end()) return facts;
  const auto [lookup, update] = found->second;
  if (lookup == nullptr || update == nullptr || lookup->ranks != update->ranks || op.ranks != lookup->ranks)
    return facts;
  facts.lookup_ = lookup;
  facts.update_ = update;
  facts.table_rows_ = table_rows(op);
  facts.table_count_ = static_cast<double>(op.shards.size());
  facts.id_bytes_ = program_.id_bytes;
  return facts;
}

RowWork RowFacts::OfOp::at(std::size_t position) const {
  RowWork rows;
  if (lookup_ == nullptr) return rows;
  rows.bytes = bytes_of_row(*lookup_, position);
  if (!(rows.bytes > 0)) return rows;
  rows.distinct = update_->distinct_rows.at(position);
  rows.table_rows = table_rows_;
  rows.table_count = table_count_;
  rows.vectors = lookup_->pooled ? lookup_->bags.at(position) : 0;
  rows.vector_bytes = rows.bytes;
  rows.id_bytes = id_bytes_;
  rows.update_bytes = bytes_of_update(*update_, position, rows.bytes);
  return rows;
}

// Those of one rank: of shards in rows the largest.
double RowFacts::table_rows(const Op& op) const {
  double rows = 0;
  for (const int index : op.shards) {
    const Program::Shard& shard = program_.shard(index);
    rows += static_cast<double>(in_rows(shard.strategy) ? shard.shard_rows(0) : shard.rows());
  }
  return rows;
}

}  // namespace shardsim
