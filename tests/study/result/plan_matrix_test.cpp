#include "study/result/plan_matrix.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "study/run/study.h"

namespace shardsim::plan_matrix_test {
namespace {

StudyResult study_of(const std::string& settings) {
  const std::string text =
      "schema: shardsim.scenario/1\n"
      "cluster: toy_2x4\n"
      "workload: {name: two, batch_per_gpu: 32, tables: [\n"
      "  {name: small, rows: 100, dim: 4, kind: pooled, pooling_factor: 2},\n"
      "  {name: large, rows: 8000, dim: 8, kind: pooled, pooling_factor: 3}]}\n" +
      settings;
  return run_study(scenario_from_text(text, "matrix.yaml", {}), {});
}

double sum_of(const PlanMatrix::Row& row, double PlanMatrix::Cells::*what) {
  double sum = 0;
  for (const PlanMatrix::Cells& each : row.cells) sum += static_cast<double>(each.last - each.first + 1) * (each.*what);
  return sum;
}

}  // namespace

TEST_CASE("of tables that are cut by rows the matrix holds each row once, and all lookups") {
  const StudyResult study = study_of("planner: {name: row_wise}\n");
  const PlanMatrix& matrix = *study.cases.front().matrix;
  CHECK(matrix.block == 1);
  REQUIRE(matrix.rows.size() == 2);
  CHECK(matrix.rows[0].table == "large");  // the largest first
  CHECK(sum_of(matrix.rows[0], &PlanMatrix::Cells::bytes) == doctest::Approx(8000 * 8 * 4));
  CHECK(sum_of(matrix.rows[1], &PlanMatrix::Cells::bytes) == doctest::Approx(100 * 4 * 4));
  CHECK(sum_of(matrix.rows[0], &PlanMatrix::Cells::lookups) == doctest::Approx(8 * 32 * 3));
  REQUIRE(matrix.rows[0].pieces.size() == 1);
  CHECK(matrix.rows[0].pieces[0].shard_rows == 1000);
  CHECK(matrix.rows[0].pieces[0].held_by == std::vector<int>{0, 7});
}

TEST_CASE("a replicated table is on every GPU, with the lookups of its own batch") {
  const StudyResult study = study_of("planner: {name: data_parallel}\n");
  const PlanMatrix::Row& large = study.cases.front().matrix->rows.front();
  CHECK(sum_of(large, &PlanMatrix::Cells::bytes) == doctest::Approx(8.0 * 8000 * 8 * 4));
  CHECK(sum_of(large, &PlanMatrix::Cells::lookups) == doctest::Approx(8 * 32 * 3));
}

TEST_CASE("a table on one GPU is in one column, and the times of a GPU's tables are those of its operations") {
  const StudyResult study = study_of("planner: {name: table_wise}\n");
  const CaseResult& item = study.cases.front();
  const std::vector<PlanMatrix::Row>& rows = item.matrix->rows;
  double ms = 0;
  for (const PlanMatrix::Row& row : rows) {
    REQUIRE(row.cells.size() == 1);
    CHECK(row.cells[0].first == row.cells[0].last);
    ms += row.cells[0].ms;
  }
  double of_spans = 0;
  for (const Span& span : item.timeline.spans) {
    const std::string& op_class = item.timeline.ops[static_cast<std::size_t>(span.op)].op_class;
    if (op_class == "lookup" || op_class == "update") of_spans += (span.end_us - span.start_us) * 1e-3;
  }
  CHECK(ms > 0);
  CHECK(ms == doctest::Approx(of_spans));
}

TEST_CASE("each GPU's lookups and updates are divided among the parts of tables that it holds, and nothing is left") {
  for (const char* const planner : {"row_wise", "column_wise", "random"}) {
    const StudyResult study = study_of(std::string("planner: {name: ") + planner + "}\n");
    const CaseResult& item = study.cases.front();
    std::vector<double> of_spans(8, 0.0), of_tables(8, 0.0);
    for (const Span& span : item.timeline.spans) {
      const std::string& op_class = item.timeline.ops[static_cast<std::size_t>(span.op)].op_class;
      if (op_class == "lookup" || op_class == "update")
        of_spans[static_cast<std::size_t>(span.rank)] += (span.end_us - span.start_us) * 1e-3;
    }
    for (const PlanMatrix::Row& row : item.matrix->rows)
      for (const PlanMatrix::Cells& cells : row.cells)
        for (auto column = cells.first; column <= cells.last; ++column)
          of_tables[static_cast<std::size_t>(column)] += cells.ms;
    for (std::size_t rank = 0; rank < of_spans.size(); ++rank)
      CHECK_MESSAGE(of_tables[rank] == doctest::Approx(of_spans[rank]), planner, " on rank ", rank);
  }
}

TEST_CASE("the columns of a large world are blocks of whole nodes, and hold the mean of one GPU") {
  const StudyResult study = study_of(
      "planner: {name: row_wise}\nload: {row_shares: even}\niterations: 2\n"
      "cases: [{name: main, set: {cluster.nodes: 256}}]\n");
  const PlanMatrix& matrix = *study.cases.front().matrix;
  CHECK(matrix.world_size == 1024);
  CHECK(matrix.block == 4);
  const PlanMatrix::Row& large = matrix.rows.front();
  CHECK(large.cells.back().last < 256);
  CHECK(4 * sum_of(large, &PlanMatrix::Cells::bytes) == doctest::Approx(8000 * 8 * 4));
}

}  // namespace shardsim::plan_matrix_test
