#include <algorithm>

#include "plan/search/local_search.h"

namespace shardsim::search {
namespace {

// Where a shard of a placement lies in rows and columns.
struct Block {
  int rank = 0;
  double rows_begin = 0, rows_end = 0;
  const Placement* of = nullptr;
};

std::vector<Block> blocks_of(const std::vector<Placement>& placements) {
  std::vector<Block> blocks;
  for (const Placement& placement : placements) {
    const auto rows = static_cast<double>(placement.rows());
    for (const std::vector<int>& group : placement.holders) {
      double begin = 0;
      for (std::size_t i = 0; i < group.size(); ++i) {
        const bool all = !in_rows(placement.strategy);
        const double held = all ? rows : static_cast<double>(placement.shard_rows(static_cast<int>(i)));
        blocks.push_back({group[i], all ? 0 : begin, all ? rows : begin + held, &placement});
        begin += held;
      }
    }
  }
  return blocks;
}

double common(const Block& a, const Block& b) {
  if (a.rank != b.rank || a.of->row_begin != b.of->row_begin || a.of->row_end != b.of->row_end) return 0;
  const double rows = std::min(a.rows_end, b.rows_end) - std::max(a.rows_begin, b.rows_begin);
  const auto columns = static_cast<double>(std::min(a.of->column_end, b.of->column_end) -
                                           std::max(a.of->column_begin, b.of->column_begin));
  return std::max(rows, 0.0) * std::max(columns, 0.0);
}

}  // namespace

double moved_bytes(const std::vector<Placement>& now, const std::vector<Placement>& before, const Table& table) {
  const std::vector<Block> held = blocks_of(before);
  double elements = 0;
  for (const Block& block : blocks_of(now)) {
    elements += (block.rows_end - block.rows_begin) * static_cast<double>(block.of->columns());
    for (const Block& old : held) elements -= common(block, old);
  }
  return std::max(elements, 0.0) * dtype_bytes(table.dtype);
}

}  // namespace shardsim::search
