#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/program.h"

namespace shardsim {

// One piece of a shard: its rows, and what the iteration adds up for them. Copies on several ranks are one piece here.
struct Piece {
  std::int64_t dim = 0;
  std::vector<float> rows, sums;
  std::vector<std::int64_t> reads;  // of each row in this iteration

  float* row(std::int64_t local) { return rows.data() + local * dim; }
};

// The pieces of a shard with the rows that they start with (first_value of data_check.h).
std::vector<Piece> pieces_of(const Program& program, const Program::Shard& shard);

}  // namespace shardsim
