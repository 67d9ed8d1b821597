#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "program/program.h"

namespace shardsim {

// The Program with the sizes that ids of batch `batch` have as they are drawn from the access law (id_streams.h),
// instead of those that the law expects: how many each rank asks of each owner, the rows that go back, their gradients,
// lookups and updates. So no drawn id is left out or repeated. Sequences alone: pooled lookups, and rows that each rank
// has itself, stay as they are.
Program with_drawn_sizes(const Program& program, int batch);

// Returns the Programs for the batches 0, 1, 2 ..., as many as there are iterations.
std::vector<Program> with_drawn_sizes_of(const Program& program, int iterations);

// The Programs that a run executes. Several are alike but for their sizes: iteration k = 0, 1, 2 ... executes number k
// modulo their count, with a batch of ids of its own. One alone is executed in every iteration, with
// Program::index_batches batches that take turns. Refers to the Programs.
class IterationPrograms {
 public:
  IterationPrograms(const Program& only) : all_(&only, 1) {}
  explicit IterationPrograms(std::span<const Program> all) : all_(all) {}  // one or more

  const Program& first() const { return all_.front(); }
  std::size_t size() const { return all_.size(); }
  const Program& operator[](std::size_t turn) const { return all_[turn]; }
  // Returns the number of the Program that an iteration executes; -1 is the one before the first, of a pipeline.
  std::size_t turn(int iteration) const { return iteration < 0 ? 0 : static_cast<std::size_t>(iteration) % size(); }
  int batches() const { return size() > 1 ? static_cast<int>(size()) : first().index_batches; }

 private:
  std::span<const Program> all_;
};

// Refuses Programs that differ in more than sizes, and several under a pipeline, whose exchange of ids works for
// another iteration than the rest. Errors: Failure::input.
void check_iteration_programs(const IterationPrograms& programs);

}  // namespace shardsim
