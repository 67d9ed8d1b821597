#include "study/confidence/path_times.h"

#include <doctest/doctest.h>

#include <string>

#include "study/planning/prepared_case.h"
#include "study/run/case_result.h"
#include "tests/study/scenario_text.h"

namespace shardsim::path_times_test {

namespace {

Op op_of(int id, const std::string& name, OpClass op_class) {
  Op op;
  op.id = id;
  op.name = name;
  op.op_class = op_class;
  return op;
}

PathStep step_of(int op, double seconds) {
  PathStep step{op < 0 ? PathStep::Kind::rest : PathStep::Kind::work, op, 0};
  step.seconds = seconds;
  return step;
}

}  // namespace

TEST_CASE("a host counts while its GPU has nothing to do, and operations of one name together") {
  Program program;
  program.ops = {op_of(0, "launch", OpClass::host), op_of(1, "mlp", OpClass::dense), op_of(2, "mlp", OpClass::dense)};
  CriticalPath path;
  path.steps = {step_of(0, 0.003), step_of(1, 0.001), step_of(-1, 0.001)};
  CHECK(path_times(program, path) == std::vector<PathTime>{{"launch", "host", 3}, {"mlp", "dense", 1}});
  path.beneath = {0, 0, 0.002};
  const std::vector<PathTime> times = path_times(program, path);
  REQUIRE(times.size() == 2);
  CHECK(times[0].ms == doctest::Approx(1));
  CHECK(times[1].ms == doctest::Approx(3));
  CHECK(times[0].beneath_ms == 0);
  CHECK(times[1].beneath_ms == doctest::Approx(2));
}

TEST_CASE("lookups and exchanges follow where rows lie, the dense part and even sums do not") {
  Program program;
  program.ops = {op_of(0, "lookup", OpClass::lookup), op_of(1, "mlp", OpClass::dense),
                 op_of(2, "sum", OpClass::reduce_scatter)};
  program.ops[0].role = OpRole::lookup;
  program.ops[1].role = OpRole::dense_forward;
  program.ops[2].role = OpRole::sum_output;
  const std::vector<PathTime> path = {{"lookup", "lookup", 3}, {"mlp", "dense", 4}, {"sum", "reduce_scatter", 5}};
  CHECK(share_moved_by_rows(program, path, 15) == doctest::Approx(0.2));
  CHECK(share_moved_by_rows(program, path, 2) == 1);
}

// An eager host sets how long this iteration takes, from its begin to its end, though the GPU waits for a part of it.
TEST_CASE("of an iteration that its host sets, what the GPU does meanwhile is not the host's") {
  const Scenario scenario = test::read(
      "schema: shardsim.scenario/1\ntitle: Eager\ncluster: dgx_a100_80gb\nworkload: dlrm_criteo_1tb\n"
      "software: torchrec_eager\nplanner: {name: row_wise}\n");
  const Case& item = scenario.cases.front();
  const Cluster cluster = cluster_of(item);
  const PreparedCase prepared(scenario, item, cluster, make_plan(item, cluster, 1, {}));
  const CaseResult result = simulated_case(prepared, false);
  double host = 0, all = 0;
  for (const PathTime& time : result.path) {
    all += time.ms;
    if (time.op_class == "host") host += time.ms;
  }
  REQUIRE(result.why);
  REQUIRE(result.why->parts.front().op_class == "host");
  CHECK(all == doctest::Approx(result.iteration_ms).epsilon(1e-6));
  CHECK(host > 0);
  CHECK(host < result.host->busy_ms * 0.99);
}

}  // namespace shardsim::path_times_test
