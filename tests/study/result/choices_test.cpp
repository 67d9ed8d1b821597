#include "study/result/choices.h"

#include <doctest/doctest.h>

#include "study/report/sheets/how_sure.h"
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

TEST_CASE(
    "of plans that take as long but for rounding, the one whose range ends lower is chosen, then the smaller one") {
  CaseResult tight = planned("tight", 10.131100000000007, Strategy::row_wise),
             slack = planned("slack", 10.13110000000001, Strategy::table_wise);
  tight.interval->high_ms = 17;
  slack.interval->high_ms = 16;
  const StudyResult study = study_of({tight, slack});
  CHECK(choices_of(study).at(0).chosen == "slack");
  StudyResult told = study;
  told.choices = choices_of(study);
  CHECK(choice_sentence(told) == "slack and tight take as long; the range of slack ends lower.");
  slack.interval->high_ms = 17 * slack.iteration_ms / tight.iteration_ms;
  tight.memory_per_rank = {2};
  slack.memory_per_rank = {1};
  tight.memory_capacity = slack.memory_capacity = 4;
  CHECK(choices_of(study_of({tight, slack})).at(0).chosen == "slack");
  slack.iteration_ms = 10.2;  // longer by more than rounding
  CHECK(choices_of(study_of({tight, slack})).at(0).chosen == "tight");
}

TEST_CASE("plans whose time one host sets are told as equal for that reason") {
  StudyResult study = study_of({planned("a", 4.240, Strategy::data_parallel), planned("b", 4.244, Strategy::row_wise),
                                planned("c", 4.244, Strategy::table_wise)});
  for (CaseResult& item : study.cases) item.interval->parts = {{"host", item.iteration_ms, 0.3}};
  study.choices = choices_of(study);
  CHECK(choice_sentence(study) == "a and 2 other plans take as long: the same host sets the time of each.");
  CHECK(other_cell(study, study.choices.at(0), study.choices.at(0).others.at(0)) == "equal");
}

}  // namespace shardsim::choices_test
