#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/program/program.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/iteration_programs.h"

namespace shardsim {

// Data whose sums are exact, so that any order of additions gives the same bits: whole numbers of small size.
// With G and mix of base/rng.h:
//
// Table elements at the start, by the popularity position of the row (not by where it lives) and the column of the
// table: the top four bits of mix(mix(table_key, (position + 1) G), (column + 1) G), less 8: in [-8, 8).
float first_value(std::uint64_t table_key, std::uint64_t position, std::int64_t column);
std::uint64_t table_key(const Table& table);  // FNV-1a of its name

// Gradient of the rank's i-th requested row (in the order of IdBatch::ids), or of its i-th vector of a pooled lookup
// (bag after bag, shard after shard of Fusion::shards), the same in every iteration; `column` of the row or vector as
// it is on the wire; `lookup_op`: the first one of the fusion. mix(mix(rank 2^32 + lookup_op, (i + 1) G), (column + 1)
// G) mod 5, less 2: -2 ... 2.
float gradient_value(int rank, int lookup_op, std::int64_t i, std::int64_t column);

// What a single process comes to after `iterations` iterations, with plain SGD of learning rate 1: the tables, and the
// rows or pooled vectors that every rank gathered in the last one. Pooled vectors are sums, of weighted features and of
// mean pooling too: what weighs them is no part of the Program.
//
// Iteration k = 0, 1, 2 ... looks up the ids of batch k mod IterationPrograms::batches(), in a pipeline too (there
// their exchange runs in iteration k - 1, and those of batch 0 are there from the start). All lookups of an iteration
// read the rows as the iterations before left them. Then each row loses the sum of the gradients of all ranks that read
// it: a row with copies on several ranks gets, on each of them, the sum over the ranks of all copies. In a pooled
// lookup each row of a bag gets the gradient of the bag's vector.
//
// Memory: all tables once, the gradients of all tables once more, and the ids of one batch. Only for tables of fp32
// with fp32 on the wire; errors (Failure::input): other types, shards of different dimension in one sequence lookup, no
// update, all-reduces that are smaller than the rows they sum. Sums beyond 2^24, where fp32 leaves out whole numbers,
// are Failure::run.
class Reference {
 public:
  explicit Reference(const IterationPrograms& programs);
  void iterate(int iterations);
  std::vector<float> gathered(int rank, int lookup_op) const;  // as Machine::gathered; empty before the first iteration
  std::vector<float> shard_rows(int rank, int shard) const;    // as Machine::shard_rows; empty where it holds none

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// "" when equal bit for bit; else where they differ first: "rank 3, lookup_row_wise, request 17, column 4: 5, not 6",
// where `what` is "rank 3, lookup_row_wise, request" and `got` has the 5.
std::string first_difference(const std::vector<float>& got, const std::vector<float>& expected, std::int64_t columns,
                             const std::string& what);

}  // namespace shardsim
