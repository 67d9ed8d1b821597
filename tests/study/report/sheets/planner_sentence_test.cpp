#include <doctest/doctest.h>

#include "study/report/sheets/planner_sheets.h"

namespace shardsim::fair_times_test {

namespace {

ComparedPlan plan_of(const std::string& planner, double ms) {
  return {.name = "plans/" + planner, .planner = planner, .iteration_ms = ms};
}

// search 10 ms, and 11 without duplicates; torchrec 30, and 13.
StudyResult two_planners() {
  StudyResult study;
  study.comparisons.resize(1);
  study.comparisons.front().planners = {plan_of("torchrec", 30), plan_of("search", 10)};
  study.cases.resize(2);
  study.cases[0].name = "plans/torchrec";
  study.cases[0].iteration_ms = 30;
  study.cases[0].iteration_ms_without_duplicates = 13;
  study.cases[1].name = "plans/search";
  study.cases[1].iteration_ms = 10;
  study.cases[1].iteration_ms_without_duplicates = 11;
  return study;
}

std::vector<FairTime> times_of(const StudyResult& study) {
  return fair_times(study.comparisons.front(), study);
}

}  // namespace

TEST_CASE("every plan has index_dedup where it is faster with it") {
  const StudyResult study = two_planners();
  const std::vector<FairTime> times = times_of(study);
  REQUIRE(times.size() == 2);
  CHECK(times[0].plan->planner == "search");
  CHECK(times[0].ms == 10);
  CHECK_FALSE(times[0].deduplicated);
  CHECK(times[1].plan->planner == "torchrec");
  CHECK(times[1].ms == 13);
  CHECK(times[1].deduplicated);
}

TEST_CASE("plans that do not fit or were not simulated both ways are left out, and all where none gets faster") {
  StudyResult study = two_planners();
  study.comparisons.front().planners[1].bytes_over = 1;
  CHECK(times_of(study).size() == 1);
  study.comparisons.front().planners[1].bytes_over.reset();
  study.cases[1].iteration_ms_without_duplicates.reset();
  CHECK(times_of(study).size() == 1);
  study.cases[0].iteration_ms_without_duplicates = 31;
  CHECK(times_of(study).empty());
}

TEST_CASE("of index_dedup the sentence speaks where it changes who follows, and by how much") {
  StudyResult study = two_planners();
  std::string said = planners_sentence(study);
  CHECK(said.find("torchrec follows with 3.000 times that. With index_dedup of sequences where that is faster, search "
                  "comes first and torchrec follows with 1.300 times that.") != std::string::npos);
  study.comparisons.front().planners[0].iteration_ms = 10.0001;
  study.cases[0].iteration_ms_without_duplicates = 8.0001;
  study.cases[1].iteration_ms_without_duplicates = 8;
  said = planners_sentence(study);
  CHECK(said.ends_with(": 10.00 ms; torchrec is as fast."));
}

}  // namespace shardsim::fair_times_test
