#include "study/notes/without_duplicates.h"

#include <doctest/doctest.h>

#include "study/run/study.h"
#include "tests/physics/lab.h"
#include "tests/study/notes/note_named.h"

namespace shardsim::without_duplicates_test {

namespace {

// A sequence of 50 items of which few rows are asked for often, and what the case says besides.
StudyResult study_of(const std::string& workload_keys, const std::string& table_keys,
                     const std::string& case_keys = "") {
  const std::string text =
      "schema: shardsim.scenario/1\ntitle: t\ncluster: {base: clusters/toy_2x4.yaml}\nworkload:\n"
      "  schema: shardsim.workload/1\n  name: w\n  batch_per_gpu: 256\n" +
      workload_keys + "  tables:\n    - {name: a, rows: 5000, dim: 64, access: {family: zipf, s: 1.2}, " + table_keys +
      "}\nplanner: {name: row_wise}\ncases:\n  - name: only\n" + case_keys;
  return run_study(scenario_from_text(text, SHARDSIM_SOURCE_DIR "/scenarios/test.yaml", {}), {});
}

constexpr const char* kSequence = "kind: sequence, average_length: 50";

bool says_so(const CaseResult& result) {
  return std::ranges::any_of(
      result.notes, [](const std::string& note) { return note.find("index_dedup: true") != std::string::npos; });
}

}  // namespace

TEST_CASE(
    "a sequence with duplicates: the time without them is that of the case with index_dedup, and a note says it") {
  const CaseResult off = study_of("", kSequence).cases.front();
  const CaseResult on = study_of("  index_dedup: true\n", kSequence).cases.front();
  REQUIRE(off.iteration_ms_without_duplicates);
  CHECK(*off.iteration_ms_without_duplicates == on.iteration_ms);
  CHECK(on.iteration_ms < off.iteration_ms);
  CHECK(says_so(off));
  CHECK_FALSE(on.iteration_ms_without_duplicates);
  CHECK_FALSE(says_so(on));
}

TEST_CASE("no note where there is nothing to remove, or where it cannot be removed") {
  CHECK_FALSE(study_of("", "kind: pooled, pooling_factor: 50").cases.front().iteration_ms_without_duplicates);
  CHECK_FALSE(study_of("  embedding_kernels: per_table\n", kSequence).cases.front().iteration_ms_without_duplicates);
  const CaseResult drawn = study_of("", kSequence, "    load: {batches: drawn, iterations: 2}\n").cases.front();
  CHECK_FALSE(drawn.iteration_ms_without_duplicates);
  const Case item;
  CaseResult result;
  result.iteration_ms = 100;
  const auto said = [&](const WithoutDuplicates& without) {
    return notes_test::note_named("duplicates", {item, nullptr, &result, &without});
  };
  CHECK(said({99.5, 1.01, 1.01}).empty());
  CHECK(said({120, 1.5, 1.5}).empty());
  REQUIRE(said({50, 4.9, 5.8}).size() == 1);
  CHECK(said({50, 4.9, 5.8})[0].find("4.9 times fewer ids and 5.8 times fewer bytes") != std::string::npos);
}

}  // namespace shardsim::without_duplicates_test
