#include "sim/engine/row_facts.h"

#include <algorithm>

namespace shardsim {
namespace {

constexpr double kPointer = 8;  // that an indexed lookup reads in the place of an id

double number_at(const PerRank& stated, std::size_t position, double otherwise) {
  const double number = stated.at(position);
  return number > 0 ? number : otherwise;
}

// Bytes of a row, from a lookup that reads rows and writes vectors as wide (docs/lowering.md, bytes in device memory).
double bytes_of_row(const Op& lookup, std::size_t position) {
  const double read = lookup.lookups.at(position);
  const double written = lookup.pooled ? lookup.bags.at(position) : read;
  if (lookup.row_bytes.at(position) > 0) return lookup.row_bytes.at(position);
  if (lookup.host_bytes.at(position) > 0 || !(read + written > 0)) return 0;
  return lookup.hbm_bytes.at(position) / (read + written);
}

// Returns the update's bytes per different row, less a gradient for each lookup.
double bytes_of_update(const Op& update, std::size_t position, double gradient) {
  const double distinct = update.distinct_rows.at(position);
  if (!(distinct > 0)) return 0;
  return std::max(0.0, (update.hbm_bytes.at(position) - gradient * update.lookups.at(position)) / distinct);
}

// Returns the bytes that an update in place moves beside rows (or sums as wide) and gradients.
double bytes_beside(const Op& update, std::size_t position, double row, double gradient) {
  return std::max(0.0, update.hbm_bytes.at(position) - (2 * row + gradient) * update.lookups.at(position));
}

// Those of one rank: of shards in rows the largest.
double held_rows(const Program::Shard& shard) {
  return static_cast<double>(in_rows(shard.strategy) ? shard.shard_rows(0) : shard.rows());
}

// What the tables of a lookup are on every rank that looks something up in them.
std::vector<TableWork> tables_of(const Op& lookup, const Program& program) {
  std::vector<TableWork> tables;
  tables.reserve(lookup.tables.size());
  for (std::size_t i = 0; i < lookup.tables.size(); ++i) {
    const Program::Shard& shard = program.shard(lookup.shards[i]);
    TableWork& table = tables.emplace_back();
    table.rows = held_rows(shard);
    table.columns = static_cast<double>(shard.columns());
    table.row_bytes = table.columns * dtype_bytes(program.table_of(lookup.shards[i]).dtype);
    table.pooled = lookup.pooled;
    table.reuse = lookup.tables[i].reuse;
  }
  return tables;
}

}  // namespace

RowFacts::RowFacts(const Program& program) : program_(program) {
  for (const Op& op : program.ops) {
    if (op.shards.empty()) continue;
    Pair& pair = by_shards_[op.shards];
    if (op.op_class == OpClass::lookup && pair.lookup == nullptr) pair.lookup = &op;
    const bool is_by_lookups = std::ranges::any_of(op.lookups.values, [](double each) { return each > 0; });
    if (op.op_class == OpClass::update && op.sort_bits == 0 && is_by_lookups && pair.update == nullptr)
      pair.update = &op;
  }
}

RowFacts::OfOp RowFacts::of(const Op& op) const {
  OfOp facts;
  const auto found = op.shards.empty() ? by_shards_.end() : by_shards_.find(op.shards);
  if (found == by_shards_.end()) return facts;
  const auto [lookup, update] = found->second;
  if (lookup == nullptr || update == nullptr || lookup->ranks != update->ranks || op.ranks != lookup->ranks)
    return facts;
  facts.program_ = &program_;
  facts.lookup_ = lookup;
  facts.update_ = update;
  facts.is_update_ = op.op_class == OpClass::update;
  facts.table_rows_ = table_rows(op);
  facts.table_count_ = static_cast<double>(op.shards.size());
  facts.id_bytes_ = program_.id_bytes;
  if (op.role == OpRole::weight_gradient) facts.part_ = &op;
  facts.tables_ = tables_of(*lookup, program_);
  return facts;
}

double RowFacts::OfOp::share_at(std::size_t position) const {
  const double all = lookup_->lookups.at(position);
  return part_ != nullptr && all > 0 ? part_->lookups.at(position) / all : 1;
}

RowWork RowFacts::OfOp::at(std::size_t position) const {
  RowWork rows;
  if (lookup_ == nullptr) return rows;
  rows.bytes = bytes_of_row(*lookup_, position);
  if (!(rows.bytes > 0)) return rows;
  rows.distinct = update_->distinct_rows.at(position);
  rows.table_rows = table_rows_;
  rows.table_count = table_count_;
  rows.vectors = lookup_->pooled ? share_at(position) * lookup_->bags.at(position) : 0;
  rows.distinct_growth = lookup_->distinct_growth.at(position);
  const double gradient = number_at(update_->vector_bytes, position, rows.bytes);
  rows.vector_bytes = is_update_ ? gradient : number_at(lookup_->vector_bytes, position, rows.bytes);
  rows.id_bytes = lookup_->indexed ? kPointer : id_bytes_;
  rows.update_bytes = bytes_of_update(*update_, position, gradient);
  if (update_->indexed) rows.summed_bytes = gradient;
  rows.in_place = is_update_ && update_->in_place;
  if (rows.in_place) rows.passed_bytes = bytes_beside(*update_, position, rows.bytes, gradient);
  return rows;
}

std::vector<TableWork> RowFacts::OfOp::tables_at(std::size_t position) const {
  std::vector<TableWork> tables;
  if (lookup_ == nullptr) return tables;
  const double share = share_at(position);
  tables.reserve(tables_.size());  // their figures of reuse are long to move
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const double lookups = lookup_->tables[i].lookups.at(position);
    if (!(lookups > 0)) continue;
    TableWork& table = tables.emplace_back(tables_[i]);
    table.bags = share * lookup_->tables[i].bags;
    table.lookups = share * lookups;
  }
  return tables;
}

double RowFacts::table_rows(const Op& op) const {
  double rows = 0;
  for (const int index : op.shards) rows += held_rows(program_.shard(index));
  return rows;
}

}  // namespace shardsim
