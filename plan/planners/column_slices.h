#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace shardsim {

struct ColumnSlice {
  std::int64_t begin = 0, end = 0;
};

// At most `most` slices of `dim` columns, none narrower than `min_partition` (and at least one). The first dim mod
// slices are one column wider.
std::vector<ColumnSlice> column_slices(std::int64_t dim, std::int64_t min_partition, std::int64_t most);

// The placement with the slice's columns alone.
Placement cut_out(Placement placement, const ColumnSlice& slice);

}  // namespace shardsim
