#pragma once

#include <string>
#include <vector>

namespace shardsim {

// One operation of an iteration as the lowering launches it (docs/lowering.md): its place among the others, without the
// amounts that placements add to it (plan/placement_load.h).
struct OutlineOp {
  // As LoadStep::key: the operation exists where a placement adds to it. Several in a row may have one key (buckets of
  // an all-reduce, kernels of single tables). "": it is there in every plan.
  std::string key;
  int stream = 0;
  std::vector<int> after;           // earlier ones that must have ended on the same rank
  std::vector<int> after_previous;  // the same of the previous iteration; any
  // Where placements do not decide how long it takes (dense layers and their all-reduces, the host's wait, splits):
  // seconds on each rank, or one number that holds for every rank; else empty.
  std::vector<double> seconds;
  bool collective = false;  // begins when every rank is there
};

// The operations of one iteration in launch order; those of one stream run one after the other.
struct IterationOutline {
  int streams = 1;
  bool pipelined = false;  // an iteration works for several batches, and overlaps the next one
  std::vector<OutlineOp> ops;
};

}  // namespace shardsim
