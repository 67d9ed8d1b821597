#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "program/program.h"
#include "validate/execute/buffers/whole_numbers.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/iteration_programs.h"

namespace shardsim {

// The state that a single process reaches after `iterations` iterations, with plain SGD of learning rate 1: the tables,
// and the rows or pooled vectors that every rank gathered in the last one. Pooled vectors are sums, of weighted
// features and of mean pooling too: what weighs them is no part of the Program.
//
// Iteration k = 0, 1, 2 ... looks up the ids of batch k mod IterationPrograms::batches(), in a pipeline too (there
// their exchange runs in iteration k - 1, and those of batch 0 are there from the start). Where a pipeline looks up
// ahead, as semi_sync does, iteration k looks up the batch of k + 1 and trains its own. All lookups of an iteration
// read the rows as the iterations before left them. Then each row loses the sum of the gradients of all ranks that read
// it: a row with copies on several ranks gets, on each of them, the sum over the ranks of all copies. In a pooled
// lookup each row of a bag gets the gradient of the bag's vector. Copies of sharding groups get the gradients of their
// group alone; in the iterations that average them (0, and each op.every behind it) they become their mean.
//
// Codecs change no gradient of these, which are -2 ... 2 and sums of such; what they round of vectors, rounding() says.
//
// Memory: rows in question twice, and the ids of one rank's batch. Only for tables of fp32 with fp32 on the wire, or
// a codec; errors (Failure::input): other types, shards of different dimension in one sequence lookup, no update,
// all-reduces that are smaller than the rows they sum. Sums beyond 2^24, where fp32 leaves out whole numbers, are
// Failure::run.
class Reference {
 public:
  // All rows, and the vectors of all ranks.
  explicit Reference(const IterationPrograms& programs);
  // The data that one rank needs to check its own: vectors that it gathers in the last of `iterations`, and rows that
  // it holds, some that other ranks ask for and some that perhaps no rank asks for. All of them if they fit into about
  // `bytes`; otherwise as many as fit, evenly spread.
  Reference(const IterationPrograms& programs, int rank, int iterations, std::int64_t bytes);

  void iterate(int iterations);
  // As Machine::gathered, of the chosen vectors; empty before the first iteration.
  std::vector<float> gathered(int rank, int lookup_op) const;
  // Behind codecs, of each number of gathered(): the sum of the sizes of the rows that it is the sum of. Else empty.
  std::vector<double> sizes(int rank, int lookup_op) const;
  // The chosen rows of what the rank holds of the shard, in the order of chosen_rows(); empty where it holds none.
  std::vector<float> shard_rows(int rank, int shard) const;

  struct Chosen {
    bool all = true;                    // then `numbers` is empty
    std::vector<std::int64_t> numbers;  // rising
  };
  const Chosen& chosen_vectors(int rank, int lookup_op) const;  // of the rank's, as they are numbered in gathered()
  const Chosen& chosen_rows(int rank, int shard) const;         // local rows

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace shardsim
