#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/report/case_groups.h"
#include "study/report/charts/chart_data.h"

namespace shardsim {
namespace {

constexpr std::size_t kCellsInPage = 12'000;  // of all matrices together: a third of a megabyte
constexpr double kMegabyte = 1e6;

std::string held_by_text(const std::vector<int>& runs) {
  std::string text;
  for (std::size_t at = 0; at + 1 < runs.size(); at += 2) {
    if (at > 0) text += " ";
    text += runs[at] == runs[at + 1] ? std::to_string(runs[at]) : fmt::format("{}-{}", runs[at], runs[at + 1]);
  }
  return text;
}

std::size_t cells_of(const PlanMatrix& matrix) {
  std::size_t cells = 0;
  for (const PlanMatrix::Row& row : matrix.rows) cells += row.cells.size() + row.pieces.size();
  return cells;
}

void add_matrix_of(std::vector<DataSet>& sets, const CaseResult& item) {
  const PlanMatrix& matrix = *item.matrix;
  for (const PlanMatrix::Row& row : matrix.rows) {
    for (const PlanMatrix::Cells& each : row.cells)
      sets[0].rows.push_back({item.name, row.table, static_cast<double>(each.first), static_cast<double>(each.last),
                              each.bytes / kMegabyte, std::round(each.lookups), each.ms});
    for (const PlanMatrix::Piece& piece : row.pieces)
      sets[1].rows.push_back({item.name, row.table, piece.strategy, piece.kernel, static_cast<double>(piece.row_begin),
                              static_cast<double>(piece.row_end), static_cast<double>(piece.column_begin),
                              static_cast<double>(piece.column_end), static_cast<double>(piece.shard_rows),
                              held_by_text(piece.held_by)});
  }
  sets[2].rows.push_back({item.name, static_cast<double>(matrix.world_size), static_cast<double>(matrix.ranks_per_node),
                          static_cast<double>(matrix.block)});
}

}  // namespace

std::vector<DataSet> plan_matrices(const StudyResult& study) {
  std::vector<DataSet> sets{{"cells", {"case", "table", "first", "last", "weights_mb", "lookups", "time_ms"}, {}},
                            {"shards",
                             {"case", "table", "sharding", "kernel", "rows_from", "rows_to", "columns_from",
                              "columns_to", "shard_rows", "held_by"},
                             {}},
                            {"columns", {"case", "gpus", "gpus_of_node", "gpus_of_column"}, {}}};
  std::size_t cells = 0;
  for (const WorkloadCases& group : by_workload(study)) {
    for (const CaseResult* const item : group.cases) {
      if (!item->matrix || item->matrix->rows.empty()) continue;
      cells += cells_of(*item->matrix);
      if (cells > kCellsInPage && !sets[2].rows.empty()) return sets;
      add_matrix_of(sets, *item);
    }
  }
  return sets;
}

std::optional<Chart> plan_matrix_chart(const StudyResult& study) {
  std::vector<DataSet> sets = plan_matrices(study);
  if (sets[0].rows.empty()) return std::nullopt;
  const std::size_t drawn = sets[2].rows.size();
  const std::string which =
      drawn < study.cases.size() ? fmt::format(" Drawn are {} of {} cases.", drawn, study.cases.size()) : "";
  return Chart{
      "plan-matrix",
      "plan_matrix",
      "Which table lies where",
      "Each line is a table, the largest first, and each column a GPU; in large worlds a block of GPUs, with the "
      "mean of one. The stronger the colour of a cell, the more it has of what is chosen: bytes of weights, "
      "lookups of an iteration, or milliseconds of lookups and updates, where a fused kernel's time is divided by "
      "the bytes that it reads of each table." +
          which,
      false,
      std::move(sets)};
}

}  // namespace shardsim
