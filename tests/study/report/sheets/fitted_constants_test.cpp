

#include "study/report/sheets/fitted_constants.h"

#include <doctest/doctest.h>

#include "study/report/documents/result_document.h"
#include "tests/base/error_text.h"
#include "tests/study/report/sample_study.h"

namespace shardsim::fitted_constants_test {
namespace {

SourcedValue fitted(const std::string& path, const std::string& value, const std::string& on = "Sophia") {
  SourcedValue constant;
  constant.path = path;
  constant.value = value;
  constant.source = "open data";
  constant.fitted = true;
  constant.fitted_on = {on};
  return constant;
}

StudyResult study_with(std::vector<SourcedValue> constants) {
  StudyResult study = sample::one_case();
  study.fitted = std::move(constants);
  return study;
}

std::vector<SourcedValue> of_clusters(const std::vector<std::string>& names) {
  std::vector<SourcedValue> constants;
  for (const std::string& name : names) {
    constants.push_back(fitted(name + ": gather.fill", "4 us"));
    constants.push_back(fitted(name + ": start", "55 us", "two systems"));
    constants.push_back(fitted(name + ": scatter.fill", "4 us"));
  }
  return constants;
}

}  // namespace

TEST_CASE("clusters that share constants and their origin share an entry") {
  const std::vector<SharedConstants> shared = shared_constants(study_with(of_clusters({"a", "b"})));
  REQUIRE(shared.size() == 2);
  CHECK(shared[0].owners == std::vector<std::string>{"a", "b"});
  REQUIRE(shared[0].constants.size() == 2);
  CHECK(shared[0].constants[1].key == "scatter.fill");
  CHECK(shared[1].fitted_on == std::vector<std::string>{"two systems"});
}

TEST_CASE("another value, another origin or one constant more is another entry") {
  for (const SourcedValue& other :
       {fitted("b: start", "56 us"), fitted("b: start", "55 us", "others"), fitted("b: begin", "55 us")}) {
    CAPTURE(other.path);
    CHECK(shared_constants(study_with({fitted("a: start", "55 us"), other})).size() == 2);
  }
  CHECK(shared_constants(study_with({fitted("a: start", "55 us"), fitted("b: start", "55 us"), fitted("b: x", "1")}))
            .size() == 2);
}

TEST_CASE("tables of a list that share a value are one key") {
  const StudyResult study = study_with({fitted("m: tables.1.access.s", "1.07"), fitted("m: tables.2.access.s", "1.07"),
                                        fitted("m: tables.4.access.s", "1.07"), fitted("m: tables.3.access.s", "1.1"),
                                        fitted("m: tables.4.access.q", "1.07")});
  const std::vector<SharedConstants> shared = shared_constants(study);
  REQUIRE(shared.size() == 1);
  REQUIRE(shared[0].constants.size() == 3);
  CHECK(shared[0].constants[0].key == "tables.1..2,4.access.s");
  CHECK(shared[0].constants[1].key == "tables.3.access.s");
  CHECK(shared[0].constants[1].value == "1.1");
  CHECK(shared[0].constants[2].key == "tables.4.access.q");
}

TEST_CASE("a terminal names some of many clusters, a page all of them") {
  const StudyResult study = study_with(of_clusters({"a100", "b200", "h100", "h200", "v100"}));
  const std::string table = result_table(study, 100, false);
  CHECK(has(table,
            "  a100, b200, h100 and 2 more: gather.fill: 4 us, scatter.fill: 4 us\n"
            "      fitted on Sophia; open data\n"
            "  a100, b200, h100 and 2 more: start: 55 us\n"));
  CHECK(has(report_html(study), "a100, b200, h100, h200, v100"));
}

}  // namespace shardsim::fitted_constants_test
