#include "study/report/sheets/published_iterations.h"

#include <doctest/doctest.h>

#include "study/report/charts/chart_data.h"
#include "tests/study/report/sample_study.h"

namespace shardsim::published_iterations_test {
namespace {

CaseResult result_of(const std::string& name, double published, double predicted, bool fitted = false) {
  CaseResult result;
  result.name = name;
  result.workload = "w";
  Published number;
  number.quantity = "iteration";
  number.value = published;
  number.unit = "ms";
  number.role = fitted ? PublishedRole::fitted : PublishedRole::predicted;
  number.source = "log";
  result.published = {{number, predicted, {}}};
  return result;
}

StudyResult sources() {
  StudyResult study;
  study.cases = {result_of("v3.0/h100/8x1", 10, 12, true), result_of("v3.0/h100/8x1/p8b", 10, 11),
                 result_of("v3.1/h100/8x1", 10, 9.8),      result_of("v3.0/h100/64x1", 20, 17),
                 result_of("v3.1/h100/8x1/2x4", 5, 5.2),   result_of("tiny/1_gpu", 100, 99),
                 result_of("v3.1/l40/8x1", 4, 4)};
  return study;
}

}  // namespace

TEST_CASE("a source is the first two parts of a name, without the case's own") {
  CHECK(source_group("v3.1/h100/8x1/2x4") == "v3.1/h100");
  CHECK(source_group("v3.1/h100/8x1") == "v3.1/h100");
  CHECK(source_group("tiny/1_gpu") == "tiny");
  CHECK(source_group("main") == "main");
  CHECK(source_of("v3.1/h100/8x1") == "v3.1");
}

TEST_CASE("iterations stand by source, errors without those that were fitted") {
  const StudyResult study = sources();
  const std::vector<IterationGroup> groups = published_iterations(study);
  REQUIRE(groups.size() == 4);
  CHECK(groups[0].name == "v3.0/h100");
  CHECK(groups[0].items.size() == 3);
  const Sheet table = published_iterations_sheet(groups, Medium::terminal);
  CHECK(table.rows[0].is_heading(table));
  CHECK(table.rows[1].cells == std::vector<std::string>{"v3.0/h100/8x1", "10.000", "12.000", "+20.0", "fitted"});
  CHECK(table.rows[1].quiet);
  const Sheet errors = source_errors_sheet(groups);
  CHECK(errors.rows[0].cells == std::vector<std::string>{"v3.0/h100", "2", "0", "0", "1", "12.5", "-2.5", "-15.0"});
  CHECK(errors.rows.back().cells == std::vector<std::string>{"all", "6", "0", "0", "1", "3.0", "-0.5", "-15.0"});
}

TEST_CASE("what was seen before and what is partly fitted have columns and words of their own") {
  StudyResult study = sources();
  study.cases[1].published[0].published.seen_before = true;
  Comparison& partly = study.cases[3].published[0];
  partly.published.role = PublishedRole::partly_fitted;
  partly.fitted_share_pct = 48.2;
  const Sheet errors = source_errors_sheet(published_iterations(study));
  CHECK(errors.rows[0].cells == std::vector<std::string>{"v3.0/h100", "0", "1", "1", "1", "10.0", "+10.0", "+10.0"});
  CHECK(role_text(study.cases[1].published[0]) == "predicted, seen before");
  CHECK(role_text(partly) == "48 % fitted");
  CHECK(roles_legend(study).find("seen before") != std::string::npos);
  CHECK(roles_legend(sources()).find("seen before") == std::string::npos);
}

TEST_CASE("fewer iterations, one source or other quantities are told case by case") {
  StudyResult few = sources();
  few.cases.resize(5);
  CHECK(published_iterations(few).empty());
  StudyResult other = sources();
  other.cases[1].published[0].published.quantity = "global_all_to_all";
  CHECK(published_iterations(other).empty());
  StudyResult many = sources();
  for (const char* const batch : {"1", "2", "3", "4"})
    many.cases.push_back(result_of(std::string("v9/h100/8x") + batch, 10, 9));
  many.cases[1].published[0].published.quantity = "global_all_to_all";
  CHECK(published_iterations(many).size() == 5);
  StudyResult one = sources();
  for (CaseResult& item : one.cases) item.name = "v3.0/h100/" + item.name;
  CHECK(published_iterations(one).empty());
  CHECK(published_iterations(sample::twelve_cases()).empty());
}

TEST_CASE("their charts are coloured by source") {
  const DataSet points = iteration_points(sources());
  REQUIRE(points.rows.size() == 7);
  CHECK(std::get<std::string>(points.rows[0][1]) == "v3.0");
  CHECK(std::get<std::string>(points.rows[0][6]) == "fitted");
  const std::vector<Chart> charts = charts_of(sources());
  REQUIRE(charts.size() >= 2);
  CHECK(charts[0].plot == "published_iterations");
  CHECK(charts[1].plot == "iteration_errors");
}

}  // namespace shardsim::published_iterations_test
