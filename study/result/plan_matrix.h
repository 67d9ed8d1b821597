#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/packed.h"

namespace shardsim {

struct Program;
struct Timeline;

// A plan as a matrix: what each GPU has of each table. In large worlds a column is a block of neighbours, and the
// smallest of very many tables are one row, so that a page can hold it.
struct PlanMatrix {
  // Columns first to last that are alike; of a block of GPUs the mean of one. `ms`: lookups and updates, of the first
  // GPU of a block.
  struct Cells {
    std::int64_t first = 0, last = 0;
    double bytes = 0;  // weights
    double lookups = 0, ms = 0;
  };
  // A placement, and the columns that hold a part of it: first and last, first and last ...
  struct Piece {
    std::string strategy, kernel;
    std::uint64_t row_begin = 0, row_end = 0, shard_rows = 0;  // the last: of its largest shard
    std::int64_t column_begin = 0, column_end = 0;
    std::vector<int> held_by{};
  };
  struct Row {
    std::string table;  // "12 more tables" of those that are one row
    double bytes = 0;   // of one copy
    std::vector<Cells> cells{};
    std::vector<Piece> pieces{};
  };
  int world_size = 0, ranks_per_node = 0;
  int block = 1;               // GPUs of a column
  std::vector<Row> rows = {};  // the largest table first
};

template <>
inline constexpr bool kPackedWhole<PlanMatrix::Cells> = true;

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PlanMatrix::Piece> auto& piece) {
  visit(piece.strategy, piece.kernel, piece.row_begin, piece.row_end, piece.shard_rows, piece.column_begin,
        piece.column_end, piece.held_by);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PlanMatrix::Row> auto& row) {
  visit(row.table, row.bytes, row.cells, row.pieces);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<PlanMatrix> auto& matrix) {
  visit(matrix.world_size, matrix.ranks_per_node, matrix.block, matrix.rows);
}

// Returns the matrix of the plan that the Program was lowered from, with the times of its iteration as it ran.
PlanMatrix plan_matrix(const Program& program, const Timeline& timeline);

}  // namespace shardsim
