#include "study/result/choices.h"

#include <doctest/doctest.h>

#include "study/result/result.h"

namespace shardsim::choices_test {
namespace {

CaseResult planned(const std::string& name, double ms, Strategy strategy) {
  CaseResult result;
  result.name = name;
  result.iteration_ms = ms;
  result.memory_capacity = 1;
  PlacementSummary placement;
  placement.table = "history";
  placement.strategy = strategy;
  result.placements = {placement};
  Interval interval;
  interval.low_ms = 0.8 * ms;
  interval.high_ms = 1.2 * ms;
  result.interval = interval;
  return result;
}

StudyResult study_of(std::vector<CaseResult> cases) {
  StudyResult study;
  study.cases = std::move(cases);
  return study;
}

}  // namespace

TEST_CASE("two cases with one plan are one alternative, and the next one is a different plan") {
  const CaseResult first = planned("plans/search", 10, Strategy::row_wise),
                   again = planned("chosen", 10, Strategy::row_wise),
                   other = planned("plans/torchrec", 12, Strategy::table_wise);
  const std::vector<Choice> choices = choices_of(study_of({first, again, other}));
  REQUIRE(choices.size() == 1);
  CHECK(choices[0].chosen == "plans/search");
  REQUIRE(choices[0].others.size() == 1);
  CHECK(choices[0].others[0].name == "plans/torchrec");
  CHECK(choices_of(study_of({first, again})).empty());
}

TEST_CASE("different plans that take as long are two alternatives") {
  const std::vector<Choice> choices =
      choices_of(study_of({planned("a", 10, Strategy::row_wise), planned("b", 10, Strategy::table_wise)}));
  REQUIRE(choices.size() == 1);
  CHECK(choices[0].others.size() == 1);
}

}  // namespace shardsim::choices_test
