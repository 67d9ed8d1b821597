#include <doctest/doctest.h>

#include "study/report/sheets/result_sheets.h"
#include "tests/study/report/sample_study.h"

namespace shardsim::levers_test {

namespace {

StudyResult one_case() {
  StudyResult study = sample::twelve_cases();
  study.cases.resize(1);
  study.cases[0].iteration_ms = study.cases[0].timeline.iteration_ms = 100;
  return study;
}

}  // namespace

TEST_CASE("an option that would take a tenth off the fastest iteration is told with its time") {
  StudyResult study = one_case();
  CHECK(levers_text(study).empty());
  study.cases[0].iteration_ms_without_duplicates = 95;
  CHECK(levers_text(study).empty());
  study.cases[0].iteration_ms_without_duplicates = 28;
  CHECK(levers_text(study) ==
        "With 'index_dedup: true' in the workload, an option of TorchRec's sequence modules, the iteration would take "
        "28.00 ms, 72 % less, with its plan kept; planned anew it may take less.");
}

TEST_CASE("where the host of eager software holds the fastest iteration up, the software that helps is told") {
  StudyResult study = one_case();
  study.cases[0].host = HostFigures{"torchrec_eager", 0, 90, 85, "torchrec_compiled"};
  CHECK(levers_text(study) ==
        "For 85 % of the iteration a GPU only waits for its host: no machine and no plan helps as much as '--set "
        "software=torchrec_compiled' may.");
  study.cases[0].iteration_ms_without_duplicates = 28;
  CHECK(levers_text(study).find("planned anew it may take less. For 85 %") != std::string::npos);
  study.cases[0].host->waits_for_host_ms = 5;
  CHECK(levers_text(study).find("host") == std::string::npos);
  study.cases[0].host = HostFigures{"torchrec_compiled", 0, 90, 85, ""};
  CHECK(levers_text(study).find("host") == std::string::npos);
}

TEST_CASE("that TorchRec has a module for each dimension is told where it adds a twentieth to what is shown") {
  StudyResult study = one_case();
  CHECK(modules_warning(study).empty());
  study.cases[0].iteration_ms_with_modules_apart = 104;
  CHECK(modules_warning(study).empty());
  study.cases[0].iteration_ms_with_modules_apart = 114;
  CHECK(modules_warning(study) ==
        "Sequences of several dimensions are one module here. TorchRec has one for each, with which the iteration "
        "takes 114.0 ms, 14 % more: 'modules: {exchanges: each}' in the workload.");
}

TEST_CASE("an option that makes another plan the fastest is told with that plan") {
  StudyResult study = sample::twelve_cases();
  study.cases.resize(2);
  CaseResult &first = study.cases[0], &other = study.cases[1];
  other.workload = first.workload;
  first.iteration_ms = 100;
  first.samples_per_s = 2;
  other.iteration_ms = 150;
  other.samples_per_s = 1;
  other.iteration_ms_without_duplicates = 70;
  CHECK(levers_text(study) == "With 'index_dedup: true' (TorchRec sends equal ids once) " + other.name +
                                  " is the fastest of these plans: 70.00 ms; planned anew it may take less.");
  first.iteration_ms_without_duplicates = 60;  // which has the option, too
  CHECK(levers_text(study).find(first.name + " would take 60.00 ms") != std::string::npos);
  first.iteration_ms_without_duplicates.reset();
  other.batch_per_gpu *= 2;  // another question
  CHECK(levers_text(study).empty());
}

}  // namespace shardsim::levers_test
