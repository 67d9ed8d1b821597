#include "study/notes/modules_apart.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "study/run/study.h"
#include "tests/physics/lab.h"

namespace shardsim::modules_apart_test {

namespace {

// Two sequences of few ids, of which one has vectors of `dim` columns.
CaseResult result_of(int dim, const std::string& workload_keys = "") {
  const std::string text =
      "schema: shardsim.scenario/1\ntitle: t\ncluster: {base: clusters/hgx_h100_8x400g.yaml, nodes: 2}\nworkload:\n"
      "  schema: shardsim.workload/1\n  name: w\n  batch_per_gpu: 64\n" +
      workload_keys +
      "  tables:\n    - {name: a, rows: 5000, dim: 64, kind: sequence, average_length: 5}\n"
      "    - {name: b, rows: 5000, dim: " +
      std::to_string(dim) + ", kind: sequence, average_length: 5}\nplanner: {name: row_wise}\ncases:\n  - name: only\n";
  return run_study(scenario_from_text(text, SHARDSIM_SOURCE_DIR "/scenarios/test.yaml", {}), {}).cases.front();
}

bool says(const CaseResult& result, const std::string& text) {
  return std::ranges::any_of(result.notes,
                             [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("with sequences of two dimensions the time of TorchRec's modules is that of the case which states them") {
  const CaseResult together = result_of(128), each = result_of(128, "  modules: {exchanges: each}\n");
  REQUIRE(together.iteration_ms_with_modules_apart);
  CHECK(*together.iteration_ms_with_modules_apart == each.iteration_ms);
  CHECK(each.iteration_ms > together.iteration_ms);
  CHECK(says(together, "'modules: {exchanges: each}' in the workload, an iteration takes"));
  CHECK_FALSE(each.iteration_ms_with_modules_apart);
}

TEST_CASE("sequences of one dimension are one module of TorchRec's, too") {
  CHECK_FALSE(result_of(64).iteration_ms_with_modules_apart);
}

}  // namespace shardsim::modules_apart_test
