#include "plan/planners/column_slices.h"

#include <algorithm>

namespace shardsim {

std::vector<ColumnSlice> column_slices(std::int64_t dim, std::int64_t min_partition, std::int64_t most) {
  const std::int64_t count = std::clamp<std::int64_t>(dim / min_partition, 1, most);
  std::vector<ColumnSlice> slices;
  std::int64_t begin = 0;
  for (std::int64_t slice = 0; slice < count; ++slice) {
    const std::int64_t end = begin + dim / count + (slice < dim % count ? 1 : 0);
    slices.push_back({begin, end});
    begin = end;
  }
  return slices;
}

Placement cut_out(Placement placement, const ColumnSlice& slice) {
  placement.column_begin = slice.begin;
  placement.column_end = slice.end;
  return placement;
}

}  // namespace shardsim
