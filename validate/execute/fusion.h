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

// One per lookup, in list order, read off the dependencies: the exchange of ids is the one of the lookup's matrix_in,
// the output exchange the first all_to_all after the lookup, the update the one of the same shards, and so on. Errors
// (Failure::input naming the operation): parts that do not fit together, such as an update whose gradients nothing
// brings, or matrices whose counts of rows and ids differ.
std::vector<Fusion> fusions_of(const Program& program, const ProgramPlaces& places);

}  // namespace shardsim
