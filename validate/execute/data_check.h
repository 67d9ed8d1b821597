#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/program.h"
#include "validate/execute/fusion.h"

namespace shardsim {

// Data whose sums are exact, so that any order of additions gives the same bits: whole numbers of small size.
// Table elements at the start, by the popularity position of the row (not by where it lives), in [-8, 8).
float first_value(std::uint64_t table_key, std::uint64_t position, std::int64_t column);
std::uint64_t table_key(const Table& table);
// Gradient of the rank's i-th requested row (in the order of IdBatch::ids), -2 ... 2; the same in every iteration.
float gradient_value(int rank, int lookup_op, std::int64_t i, std::int64_t column);

// What a single process comes to after `iterations` iterations, with plain SGD of learning rate 1: the tables, and the
// rows that every rank gathered in the last one. Memory: all tables once. Only for tables of fp32; errors
// (Failure::input): other types, pooled lookups, or shards of different dimension in one lookup.
class Reference {
 public:
  explicit Reference(const Program& program);
  void iterate(int iterations);
  std::vector<float> gathered(int rank, int lookup_op) const;  // as Machine::gathered
  std::vector<float> shard_rows(int rank, int shard) const;    // as Machine::shard_rows
 private:
  struct State;
  std::shared_ptr<State> state_;
};

// "" when equal bit for bit; else where they differ first: "rank 3, lookup_row_wise, request 17, column 4: 5, not 6".
std::string first_difference(const std::vector<float>& got, const std::vector<float>& expected, std::int64_t columns,
                             const std::string& what);

}  // namespace shardsim
