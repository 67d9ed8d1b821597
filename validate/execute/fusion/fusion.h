#pragma once

#include <vector>

#include "sim/program/program.h"

namespace shardsim {

// The operations that belong together: one lookup (or, of pooled tables, several that share their exchanges), what
// brings its ids and takes its rows away, and what updates its rows. Indices into Program::ops; -1: there is none.
struct Fusion {
  int lookup = -1;
  int ids = -1;                  // exchange of ids; -1: the own batch alone
  bool ids_came_before = false;  // they were exchanged in the previous iteration (a pipeline)
  int output = -1;               // exchange of the rows looked up
  int gradient_exchange = -1;
  int gradient = -1;           // the fused update, or the summed gradient of replicated rows
  std::vector<int> reduces{};  // all-reduces of that; of sequences the first one alone
  int apply = -1;              // update of the replicated rows

  std::vector<int> shards;  // of all its lookups

  // Pooled lookups. Rows that are cut over ranks make partial sums: `scatter` adds them up, and where the ranks that it
  // adds over are not all who exchanged ids, `output` takes the sums to the others; `gradient_exchange` and `gather`
  // bring the gradients back.
  bool pooled = false;
  int scatter = -1;  // reduce_scatter
  int gather = -1;   // all_gather
  struct Part {
    int lookup = -1, gradient = -1, apply = -1;
    std::vector<int> shards;
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts{};  // pooled: all lookups; the operations of the first one also stand above

  bool operator==(const Fusion&) const = default;
};

// One per lookup, in list order, read off the dependencies:
// - ids: the all_to_all of the lookup's matrix_in. It belongs to this iteration where the lookup comes after it, and
//   came before where the lookup has it in after_previous: then iteration k exchanges the ids of iteration k + 1.
// - output: the all_to_all nearest after the lookup, over compute operations only, on the group of the ids;
// - gradient: the first update of the same shards; apply: the second, which replicated rows need;
// - gradient_exchange: the all_to_all nearest before the gradient; reduces: the all_reduces between gradient and apply;
// - pooled lookups of row-wise, table_row_wise, grid_shard and flex shards: scatter is the nearest reduce_scatter among
//   ranks that exchange ids, output the nearest all_to_all after it across those, and backward the same way round.
//   Pooled lookups that name the same exchange of ids, or whose gradients share an all_reduce, are one fusion.
// Errors (Failure::input naming the operation): parts that do not fit together, such as an update whose gradients
// nothing brings, matrices whose counts of rows and ids differ, rows that no rank of the group holds.
std::vector<Fusion> fusions_of(const Program& program, const ProgramPlaces& places);

}  // namespace shardsim
