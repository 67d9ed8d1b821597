#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/program.h"
#include "validate/execute/fusion/fusion.h"

namespace shardsim {

// Data whose sums are exact, so that any order of additions gives the same bits: whole numbers of small size.
// With G and mix of base/rng.h:
//
// Table elements at the start, by where the row lives (its piece, and the row there), so that whoever holds rows can
// fill them one after the other, and the column of the table: the top four bits of mix(mix(piece_key, (row + 1) G),
// (column + 1) G), less 8: in [-8, 8).
float first_value(std::uint64_t piece_key, std::uint64_t local_row, std::int64_t column);
// The key of a piece of a shard, the same for all columns of its rows and all copies: FNV-1a of the table's name, mixed
// with (first row + 1) G and (piece + 1) G.
std::uint64_t piece_key(const Program& program, int shard, int piece);

// Gradient of the rank's i-th requested row (in the order of IdBatch::ids), or of its i-th vector of a pooled lookup
// (bag after bag, shard after shard of Fusion::shards), the same in every iteration; `column` of the row or vector as
// it is on the wire; `lookup_op`: the first one of the fusion. mix(mix(rank 2^32 + lookup_op, (i + 1) G), (column + 1)
// G) mod 5, less 2: -2 ... 2.
float gradient_value(int rank, int lookup_op, std::int64_t i, std::int64_t column);

// Refuses what has no such sums. Errors (Failure::input naming the operation): as Reference's.
void check_whole_numbers(const Program& program, const Fusion& fusion, const ProgramPlaces& places);

// The precision that codecs take from the vectors of a fusion. Where they alone round, each number once, it is the
// number that comes back from the wire (`last`). Where ranks add up what was rounded, in an order of their own, it is
// within of_sums x the sum of the sizes of the rows in it.
struct WireRounding {
  Dtype last = Dtype::fp32;  // of the exchange behind sums, or of the only one
  double of_sums = 0;
  bool exact() const { return of_sums == 0; }
  void round(std::vector<float>& values) const;  // as the wire does, where that is known
};
WireRounding rounding_of(const Program& program, const Fusion& fusion);

// "" where they are within the rounding; else as first_difference. `sizes`: those of Reference.
std::string first_beyond(const std::vector<float>& got, const std::vector<float>& expected,
                         const std::vector<double>& sizes, const WireRounding& rounding, std::int64_t columns,
                         const std::string& what);

// "" when equal bit for bit; else where they differ first: "rank 3, lookup_row_wise, request 17, column 4: 5, not 6",
// where `what` is "rank 3, lookup_row_wise, request" and `got` has the 5.
std::string first_difference(const std::vector<float>& got, const std::vector<float>& expected, std::int64_t columns,
                             const std::string& what);

}  // namespace shardsim
