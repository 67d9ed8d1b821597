#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/program.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/rank_rows.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// The kernels' type of a table's elements. Errors (Failure::input at `place`): int8, which has no kernel.
ElementType element_type(Dtype dtype, const Place& place);

// How large the buffers of one fusion are on one rank; what a CPU rank and a GPU both arrange. Chunks of exchanges lie
// back to back by position in the exchange group.
//
//   ids asked (exchange of ids) -> ids served -> lookup -> rows served (output exchange) -> rows gathered
//   gradients of the rows asked (gradient exchange) -> gradients of the rows served -> update
//
// Without an exchange the ids served are the ids asked, and so with rows and gradients.
struct FusionBuffers {
  Fusion fusion;
  RankRows rows;
  ElementType type = ElementType::fp32;
  std::int64_t dim = 0;     // columns of every row
  std::int64_t asked = 0;   // ids of the own batch
  std::int64_t served = 0;  // ids that this rank looks up
  int id_bytes = 8;         // on the wire
  bool exchanges() const { return fusion.ids >= 0; }
  std::int64_t row_bytes() const { return dim * element_bytes(type); }
  // Of a wire buffer: the rows in the table's type, or what the matrix says where the wire has another type.
  std::int64_t gathered_bytes = 0, served_bytes = 0;                 // output exchange
  std::int64_t gradient_asked_bytes = 0, gradient_served_bytes = 0;  // gradient exchange
  std::int64_t reduced_bytes = 0;                                    // of the all-reduce; 0: none
};

// Of the sequence lookups; pooled_buffers.h has the others. Errors (Failure::input naming the operation): rows of
// different widths in one lookup, int8 rows; what fusions_of refuses.
std::vector<FusionBuffers> rank_buffers(const Program& program, const ProgramPlaces& places, int rank);

// Where one rank sits in a collective: the rank set that holds it and its position there.
struct Seat {
  std::vector<int> ranks;
  int position = 0;
  std::size_t set = 0;  // which rank set of the group
};
Seat seat_of(const Program& program, const Op& op, int rank);

// Bytes that one rank gives to and takes from a collective, own chunk included. all_reduce, broadcast: the buffer;
// all_gather, reduce_scatter: the whole vector on both sides.
struct CollectiveBytes {
  std::int64_t in = 0, out = 0;
};
CollectiveBytes collective_bytes(const Program& program, const Op& op, int rank);

// The part of a compute operation on `rank`: PerRank values are by position among the operation's ranks.
double value_on(const Program& program, const Op& op, const PerRank& values, int rank);
bool takes_part(const Program& program, const Op& op, int rank);

}  // namespace shardsim
