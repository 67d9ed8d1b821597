#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tree/tree.h"
#include "program/timeline/kineto/traced_step.h"

namespace shardsim {

// How a batch that was not traced follows from one that was, where there is one alone.
enum class DenseScale {
  none,     // it does not: another batch is refused
  nothing,  // every time stays as it is
  kernels   // the time of kernels, copies and exchanges is in proportion to the batch, that of the host stays
};

// The step of one batch as a trace has it.
struct TracedBatch {
  std::int64_t batch = 0;  // samples per GPU; 0: nobody says, and there is no other one
  const TracedModel* traced = nullptr;
};

// Tells what of the steps becomes the measured rest of an iteration.
struct TracedRest {
  std::vector<TracedBatch> batches;  // of different sizes: the work of each part is on lines from one to the next
  std::int64_t batch = 0;            // for which they are asked, and stated
  bool exchanges = true;             // those that nothing hides are part of it
  bool embeddings = true;            // kernels of lookups and updates are
  DenseScale scale = DenseScale::none;
};

// The lines of a workload, `dense: {measured: ...}`, that such a step is. A traced batch has the step that was
// traced, and the steps of those around it are as long, but for the samples that they have more or less.
std::string traced_dense_text(const TracedRest& rest);

// The workload with the step of its key `dense: {trace: FILE}`, which stands for the whole dense part; as it is where
// there is no such key. Errors (Failure::input): other keys beside it; a trace of another batch than the workload's;
// those of the trace. `notes` gets what the trace leaves open, in sentences.
Tree with_traced_dense(Tree workload, std::vector<std::string>& notes);

}  // namespace shardsim
