// The report on a terminal of more cases than anybody reads one by one.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/text.h"
#include "study/report/documents/result_document.h"
#include "study/report/sheets/result_sheets.h"
#include "tests/base/error_text.h"
#include "tests/study/report/sample_study.h"

namespace shardsim::many_cases_test {
namespace {

std::string name_of(std::size_t number) {
  return fmt::format("hugectr2.2/v100/{}x1048576/dim16/vocab2322444", number);
}

// Case i waits for i - 1 tenths of a percent of its iteration.
StudyResult many(std::size_t count) {
  StudyResult study;
  for (std::size_t i = 1; i <= count; ++i) {
    CaseResult item = sample::one_case().cases.front();
    item.name = name_of(i);
    item.limit = {"rank 127 compute", 0.5};
    item.host = HostFigures{"eager", 0, 5.0, 1e-3 * static_cast<double>(i - 1) * item.iteration_ms};
    study.cases.push_back(std::move(item));
  }
  return study;
}

std::size_t rows_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (const std::string& line : split(text, '\n')) count += has(line, part) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("names of very many cases are whole, and their limit too") {
  const std::string table = result_table(many(31), 100, false);
  CHECK_FALSE(has(table, "~"));
  CHECK(has(table, "  busiest            %\n"));
  CHECK_FALSE(has(table, "est. ms"));
  for (std::size_t i = 1; i <= 31; ++i) CHECK(has(table, "  " + name_of(i) + " "));
  CHECK(has(report_html(many(31)), "est. ms"));
}

TEST_CASE("names of fewer cases have lines of their own where they are long") {
  const std::string table = result_table(many(20), 100, false);
  CHECK(has(table, "80 % within"));
  for (std::size_t i = 1; i <= 20; ++i) CHECK(has(table, "  " + name_of(i) + "\n  "));
}

TEST_CASE("of many hosts those are told that a GPU waits for, the worst first") {
  const StudyResult study = many(40);  // 5 of them wait less than half a percent
  const std::string terminal = document_text({"", "", {host_section(study, Medium::terminal)}}, 100, false);
  CHECK(rows_with(terminal, "hugectr2.2") == 20);
  CHECK(terminal.find(name_of(40)) < terminal.find(name_of(39)));
  CHECK_FALSE(has(terminal, name_of(20) + " "));
  CHECK(has(terminal, "15 more cases wait less; they are in the report. In 5 of 40 cases the GPU does not wait"));
  const std::string page = document_text({"", "", {host_section(study, Medium::page)}}, 100, false);
  CHECK(rows_with(page, "hugectr2.2") == 35);
}

TEST_CASE("of few hosts all are told, and where none waits a sentence is enough") {
  const auto text = [](const StudyResult& study) {
    return document_text({"", "", {host_section(study, Medium::terminal)}}, 100, false);
  };
  CHECK(rows_with(text(many(20)), "hugectr2.2") == 20);
  CHECK_FALSE(has(text(many(20)), "does not wait"));
  StudyResult idle = many(40);
  for (CaseResult& item : idle.cases) item.host->waits_for_host_ms = 0;
  CHECK(rows_with(text(idle), "hugectr2.2") == 0);
  CHECK(has(text(idle), "In 40 of 40 cases"));
  for (CaseResult& item : idle.cases) item.host.reset();
  CHECK(host_section(idle, Medium::terminal).blocks.empty());
}

TEST_CASE("the legend says what a launch that limits is") {
  StudyResult study = sample::one_case();
  CHECK_FALSE(has(result_table(study, 200, false), "launch:"));
  study.cases.front().limit = {"rank 0 launch", 1};
  CHECK(has(result_table(study, 200, false), "launch:"));
}

}  // namespace shardsim::many_cases_test
