#pragma once

#include <cstdint>
#include <vector>

#include "program/timeline/kineto/kineto_trace.h"

namespace shardsim {

// Embedding tables that one operator looks up, as the shapes of its inputs tell: sums over all of them, for the
// profiler records neither names nor the sizes of each.
struct TracedTables {
  std::int64_t tables = 1;
  std::int64_t bags = 0;     // of each table: the samples that this rank looks up
  std::int64_t lookups = 0;  // of all
  std::int64_t rows = 0;     // of all; 0: not known
  std::int64_t columns = 0;  // of all
  std::int64_t values = 0;   // of all: rows x columns of each
  bool weighted = false, sequence = false, half = false;
};

// Holds what the host looks up from `start_us` to `end_us`. Tables of operators whose shapes do not fit each other
// are left out. `batch`: the samples of this rank, 0 where that is not known.
struct TracedShapes {
  std::int64_t batch = 0;  // by the loss
  std::vector<TracedTables> tables;
  std::int64_t not_understood = 0;    // lookups whose shapes do not fit
  std::int64_t reduced_elements = 0;  // of all-reduces
};
TracedShapes traced_shapes(const KinetoTrace& trace, double start_us, double end_us);

}  // namespace shardsim
