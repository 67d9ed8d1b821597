#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.h"
#include "validate/execute/fusion.h"

namespace shardsim {

// The rows that one rank holds of a fusion's shards: local rows of its shards one after the other, in one arena. On the
// wire an id is the running number of the row there.
struct RankRows {
  struct Part {
    int shard = 0;               // of Program::shards
    int position = 0;            // which row shard of it
    std::int64_t first_row = 0;  // running number of its first row
    std::int64_t rows = 0;
    std::int64_t dim = 0;            // columns of the shard
    std::int64_t first_element = 0;  // of the arena
  };
  std::vector<Part> parts;  // in the order of Fusion::shards; shards that the rank holds nothing of are left out
  std::int64_t rows = 0;
  std::int64_t elements = 0;

  bool one_dim() const;                         // all parts have the same dim
  const Part& part_of(std::int64_t row) const;  // by running number
};

RankRows rank_rows(const Program& program, const Fusion& fusion, int rank);

}  // namespace shardsim
