#include <doctest/doctest.h>

#include "study/report/sheets/result_sheets.h"
#include "study/result/case_figures.h"
#include "tests/base/error_text.h"
#include "tests/study/report/sample_study.h"

namespace shardsim::torchrec_warning_test {

namespace {

// The fastest plan has tiers, the other one has none.
StudyResult fastest_with_tiers() {
  StudyResult study = sample::twelve_cases();
  study.cases.resize(2);
  study.cases[0].iteration_ms = 409, study.cases[1].iteration_ms = 254;
  study.cases[1].samples_per_s = 2 * study.cases[0].samples_per_s;
  study.cases[1].beyond_torchrec = "tiers of rows (history)";
  return study;
}

}  // namespace

TEST_CASE("beside a plan that TorchRec cannot run stands one for the same batch on the same machine, and no other") {
  StudyResult study = fastest_with_tiers();
  CHECK(has(short_torchrec_warning(study), "TorchRec cannot run flexshard_2tier"));
  CHECK(has(short_torchrec_warning(study), "of these it can run row_wise, 409.0 ms"));
  CHECK(has(torchrec_warning(study), "row_wise, with 409.0 ms"));
  study.cases[0].batch_per_gpu /= 2;
  CHECK(has(short_torchrec_warning(study), "--torchrec-only plans without"));
  CHECK_FALSE(has(short_torchrec_warning(study), "row_wise"));
  CHECK_FALSE(has(torchrec_warning(study), "409"));
  study = fastest_with_tiers();
  study.cases[0].world_size *= 2;
  CHECK_FALSE(has(torchrec_warning(study), "409"));
}

TEST_CASE("an option of TorchRec that makes its plan faster is told before a factor over that plan is believed") {
  StudyResult study = fastest_with_tiers();
  study.cases[0].iteration_ms_without_duplicates = 200;
  study.cases[1].iteration_ms_without_duplicates = 250;
  CHECK(has(short_torchrec_warning(study), "409.0 ms (with index_dedup 200.0, and flexshard_2tier 250.0)"));
  CHECK(has(torchrec_warning(study), "with 409.0 ms (with index_dedup 200.0, and rm1/flexshard_2tier 250.0)"));
  study.cases[1].iteration_ms_without_duplicates = 260;  // slower with it
  CHECK(has(short_torchrec_warning(study), "409.0 ms (with index_dedup 200.0)"));
  study.cases[0].iteration_ms_without_duplicates = 408;
  CHECK_FALSE(has(torchrec_warning(study), "index_dedup"));
}

TEST_CASE("with an option of TorchRec the plan to take may be another one of those that it can run") {
  StudyResult study = fastest_with_tiers();
  study.cases[0].iteration_ms_without_duplicates = 300;
  study.cases.push_back(study.cases[0]);
  CaseResult& slow = study.cases.back();
  slow.name = "rm1/table_wise";
  slow.iteration_ms = 700;
  slow.samples_per_s /= 2;
  slow.iteration_ms_without_duplicates = 260;
  const std::string first = "; then rm1/table_wise is the fastest of these: 260.0)";
  CHECK(has(short_torchrec_warning(study),
            "row_wise, 409.0 ms (with index_dedup 300.0; then table_wise is the fastest of these: 260.0)"));
  CHECK(has(torchrec_warning(study), "with 409.0 ms (with index_dedup 300.0" + first));
  study.cases[0].iteration_ms_without_duplicates.reset();
  study.cases[1].iteration_ms_without_duplicates = 250;
  CHECK(has(short_torchrec_warning(study),
            "409.0 ms (with index_dedup flexshard_2tier 250.0; then table_wise is the fastest of these: 260.0)"));
  study.cases[1].iteration_ms_without_duplicates.reset();
  CHECK(has(short_torchrec_warning(study), "409.0 ms (with index_dedup table_wise is the fastest of these: 260.0)"));
  slow.batch_per_gpu *= 2;  // another question
  CHECK_FALSE(has(short_torchrec_warning(study), "table_wise"));
}

TEST_CASE("what a planner would do without the limit is compared with plans for the same batch within it") {
  StudyResult study = fastest_with_tiers();
  study.cases[1].name = study.cases[0].name + std::string(kWithoutLimit);
  study.cases[1].relative_to = study.cases[0].name;
  CHECK(has(torchrec_warning(study), "Without --torchrec-only the planner's plan takes 254.0 ms"));
  study.cases.push_back(study.cases[0]);
  study.cases.back().name = "small";
  study.cases.back().batch_per_gpu /= 8;
  study.cases.back().iteration_ms = 60;
  study.cases.back().samples_per_s *= 1.1;
  CHECK(has(torchrec_warning(study), "Without --torchrec-only the planner's plan takes 254.0 ms"));
  study.cases.back().batch_per_gpu *= 8;
  CHECK(torchrec_warning(study).empty());
}

}  // namespace shardsim::torchrec_warning_test
