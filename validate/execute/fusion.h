#pragma once

#include <vector>

#include "sim/program.h"

namespace shardsim {

// The operations that belong together: one lookup, what brings its ids and takes its rows away, and what updates its
// rows. Indices into Program::ops; -1: there is none.
struct Fusion {
  int lookup = -1;
  int ids = -1;                  // exchange of ids; -1: the own batch alone
  bool ids_came_before = false;  // they were exchanged in the previous iteration (a pipeline)
  int output = -1;               // exchange of the rows looked up
  int gradient_exchange = -1;
  int gradient = -1;  // the fused update, or the summed gradient of replicated rows
  int reduce = -1;    // all-reduce of that
  int apply = -1;     // update of the replicated rows

  std::vector<int> shards;  // of the lookup
  bool operator==(const Fusion&) const = default;
};

// One per lookup, in list order, read off the dependencies:
// - ids: the all_to_all of the lookup's matrix_in. It belongs to this iteration where the lookup comes after it, and
//   came before where the lookup has it in after_previous: then iteration k exchanges the ids of iteration k + 1.
// - output: the all_to_all nearest after the lookup, over compute operations only, on the group of the ids;
// - gradient: the first update of the same shards; apply: the second, which replicated rows need;
// - gradient_exchange: the all_to_all nearest before the gradient; reduce: the all_reduce between gradient and apply.
// Errors (Failure::input naming the operation): parts that do not fit together, such as an update whose gradients
// nothing brings, matrices whose counts of rows and ids differ, rows that no rank of the group holds, pooled lookups.
std::vector<Fusion> fusions_of(const Program& program, const ProgramPlaces& places);

}  // namespace shardsim
