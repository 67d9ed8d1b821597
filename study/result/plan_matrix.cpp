#include "study/result/plan_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "program/program.h"
#include "program/timeline/timeline.h"
#include "study/why/table_shares.h"

namespace shardsim {
namespace {

constexpr int kMostColumns = 512;                      // more than most screens have pixels for
constexpr std::size_t kMostMatrixNumbers = 4'000'000;  // of tables times columns that are held at a time
constexpr std::size_t kMostCells = 6'000;              // of a matrix: what a page can hold of it
constexpr std::size_t kMostRows = 400;

// Rows of the matrix before columns that are alike are joined.
struct OfTable {
  double bytes = 0;
  std::vector<double> held, lookups, ms;  // [column]
  std::vector<PlanMatrix::Piece> pieces;
};

// A whole number of nodes where a GPU by itself is too narrow.
int block_of(const Program& program) {
  const std::size_t tables = std::max<std::size_t>(program.tables.size(), 1);
  const int most = static_cast<int>(std::clamp<std::size_t>(kMostMatrixNumbers / tables, 8, kMostColumns));
  if (program.world_size <= most) return 1;
  const int node = std::max(program.ranks_per_node, 1), nodes = (program.world_size + node - 1) / node;
  return node * ((nodes + most - 1) / most);
}

class MatrixMaker {
 public:
  MatrixMaker(const Program& program, int block)
      : program_(program),
        block_(block),
        columns_(static_cast<std::size_t>((program.world_size + block - 1) / block)),
        tables_(program.tables.size()) {
    for (OfTable& table : tables_) table.held = table.lookups = table.ms = std::vector<double>(columns_, 0.0);
  }

  std::vector<OfTable> make(const Timeline& timeline) {
    for (const Program::Shard& shard : program_.shards) add_shard(shard);
    add_times(timeline);
    return std::move(tables_);
  }

 private:
  std::size_t column_of(int rank) const { return static_cast<std::size_t>(rank / block_); }

  // GPUs of the column: the last one may have fewer.
  double width(std::size_t column) const {
    return std::min<double>(block_, program_.world_size - static_cast<double>(column) * block_);
  }

  void add_shard(const Program::Shard& shard) {
    OfTable& table = tables_[static_cast<std::size_t>(shard.table)];
    const Table& of = program_.tables[static_cast<std::size_t>(shard.table)];
    const double width_bytes =
        static_cast<double>(of.row_bytes()) * static_cast<double>(shard.columns()) / static_cast<double>(of.dim);
    table.bytes += width_bytes * static_cast<double>(shard.rows());
    const std::vector<double> lookups = lookups_of(program_, shard);
    std::vector<bool> holds(columns_, false);
    for (const std::vector<int>& set : shard.holders) {
      for (std::size_t i = 0; i < set.size(); ++i) {
        const std::size_t column = column_of(set[i]);
        const int part = in_rows(shard.strategy) ? static_cast<int>(i) : 0;
        table.held[column] += width_bytes * static_cast<double>(shard.shard_rows(part)) / width(column);
        table.lookups[column] += lookups[i] / width(column);
        holds[column] = true;
      }
    }
    table.pieces.push_back({std::string(strategy_name(shard.strategy)), shard.compute_kernel, shard.row_begin,
                            shard.row_end, shard.shard_rows(0), shard.column_begin, shard.column_end, runs_of(holds)});
  }

  static std::vector<int> runs_of(const std::vector<bool>& holds) {
    std::vector<int> runs;
    for (std::size_t at = 0; at < holds.size(); ++at) {
      if (!holds[at]) continue;
      const int column = static_cast<int>(at);
      if (!runs.empty() && runs.back() == column - 1) {
        runs.back() = column;
      } else {
        runs.insert(runs.end(), {column, column});
      }
    }
    return runs;
  }

  void add_times(const Timeline& timeline) {
    TableShares shares(program_);
    for (const Span& span : timeline.spans) {
      if (span.rank % block_ != 0 || span.iteration != timeline.spans.front().iteration) continue;
      const Op& op = program_.op(span.op);
      if (op.op_class != OpClass::lookup && op.op_class != OpClass::update) continue;
      for (const auto& [table, share] : shares.of_held(span.op, span.rank))
        tables_[static_cast<std::size_t>(table)].ms[column_of(span.rank)] +=
            share * (span.end_us - span.start_us) * 1e-3;
    }
  }

  const Program& program_;
  int block_;
  std::size_t columns_;
  std::vector<OfTable> tables_;
};

std::vector<PlanMatrix::Cells> joined(const OfTable& table) {
  std::vector<PlanMatrix::Cells> cells;
  for (std::size_t at = 0; at < table.held.size(); ++at) {
    const PlanMatrix::Cells cell{static_cast<std::int64_t>(at), static_cast<std::int64_t>(at), table.held[at],
                                 table.lookups[at], table.ms[at]};
    const bool empty = cell.bytes == 0 && cell.lookups == 0 && cell.ms == 0;
    if (empty) continue;
    const bool alike = !cells.empty() && cells.back().last + 1 == cell.first && cells.back().bytes == cell.bytes &&
                       cells.back().lookups == cell.lookups && cells.back().ms == cell.ms;
    if (alike) {
      cells.back().last = cell.last;
    } else {
      cells.push_back(cell);
    }
  }
  return cells;
}

void add_to(OfTable& sum, const OfTable& table) {
  if (sum.held.empty()) sum.held = sum.lookups = sum.ms = std::vector<double>(table.held.size(), 0.0);
  sum.bytes += table.bytes;
  for (std::size_t at = 0; at < table.held.size(); ++at) {
    sum.held[at] += table.held[at];
    sum.lookups[at] += table.lookups[at];
    sum.ms[at] += table.ms[at];
  }
}

}  // namespace

PlanMatrix plan_matrix(const Program& program, const Timeline& timeline) {
  PlanMatrix matrix{program.world_size, program.ranks_per_node, block_of(program)};
  std::vector<OfTable> tables = MatrixMaker(program, matrix.block).make(timeline);
  std::vector<std::size_t> order(tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t at) { return tables[at].bytes; });
  std::size_t cells = 0, joined_tables = 0;
  OfTable rest;
  for (const std::size_t at : order) {
    PlanMatrix::Row row{program.tables[at].name, tables[at].bytes, joined(tables[at]), std::move(tables[at].pieces)};
    cells += row.cells.size();
    if (joined_tables == 0 && (matrix.rows.empty() || (cells <= kMostCells && matrix.rows.size() < kMostRows))) {
      matrix.rows.push_back(std::move(row));
      continue;
    }
    ++joined_tables;
    add_to(rest, tables[at]);
  }
  if (joined_tables > 0)
    matrix.rows.push_back({fmt::format("{} more tables", joined_tables), rest.bytes, joined(rest), {}});
  return matrix;
}

}  // namespace shardsim
