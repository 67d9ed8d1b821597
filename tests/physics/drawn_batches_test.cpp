#include "study/run/drawn_batches.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "base/packed.h"
#include "sim/engine/iteration_chain.h"
#include "sim/engine/op_work.h"
#include "tests/physics/two_tables.h"

namespace shardsim::drawn_batches_test {

// Chains of drawn batches: what they are where nothing varies, and how they compare with the expected batch.

using namespace shardsim::physics;

namespace {

// A case of one log-normal sequence table beside a pooled one; `more` follows.
Scenario scenario_of(const std::string& lengths, const std::string& more) {
  const std::string text =
      "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload:\n  schema: shardsim.workload/1\n  name: w\n"
      "  batch_per_gpu: 64\n  tables:\n"
      "    - {name: a, rows: 40000, dim: 64, kind: sequence, average_length: 40, access: {family: zipf, s: 0.8}, " +
      lengths +
      "}\n    - {name: b, rows: 6000, dim: 64, kind: pooled, pooling_factor: 4}\n"
      "  dense: {layers: [{name: a, in: 64, out: 64, per: item}]}\nseed: 3\n" +
      more;
  return scenario_from_text(text, SHARDSIM_SOURCE_DIR "/scenarios/test.yaml", {});
}

constexpr const char* kLogNormal = "length_distribution: {family: log_normal, sigma: 1}";

const CaseResult& only(const StudyResult& study) {
  REQUIRE(study.cases.size() == 1);
  return study.cases.front();
}

double iteration_of(const std::string& lengths, const std::string& more) {
  return only(run_study(scenario_of(lengths, more), {})).iteration_ms;
}

}  // namespace

TEST_CASE("a chain of equal iterations takes the steady iteration, each of them") {
  const Cluster cluster = toy_cluster();
  const Program program = lowered_plan(plan_of(Strategy::row_wise), two_tables_of(TableKind::sequence), cluster);
  const auto compute = make_compute_model(named("roofline"));
  const std::vector<OpWork> works = expand_ops(program, cluster, *compute, {});
  for (const char* const network : {"closed_form", "fair_queues", "simgrid"}) {
    const std::vector<double> ms = unpacked<std::vector<double>>(on_network(network, [&] {
      const std::vector<std::vector<OpWork>> each(6, works);
      const IterationChain chain(program, cluster, each, *make_network(named(network)));
      std::vector<double> seconds;
      for (std::size_t i = 2; i < each.size(); ++i) seconds.push_back(chain.seconds(i).ms());
      return packed(seconds);
    }));
    const double steady = simulated(program, cluster, network).iteration_ms;
    CAPTURE(network);
    for (const double each : ms) CHECK(off(each, steady) < 1e-6);
  }
}

TEST_CASE("a long iteration delays the next where streams overlap, and all together take what the chain takes") {
  const Cluster cluster = toy_cluster();
  const Program program = lowered_plan(plan_of(Strategy::row_wise), two_tables_of(TableKind::sequence), cluster);
  const auto compute = make_compute_model(named("roofline"));
  const std::vector<OpWork> works = expand_ops(program, cluster, *compute, {});
  std::vector<OpWork> longer = works;
  for (OpWork& work : longer) {
    for (double& seconds : work.seconds) seconds *= seconds > 0 ? 30 : 1;
  }
  const std::vector<std::vector<OpWork>> each = {works, works, works, longer, works, works};
  const IterationChain chain(program, cluster, each, *make_network(named("closed_form")));
  CHECK(chain.seconds(3).value > 1.5 * chain.seconds(2).value);
  CHECK(off(chain.seconds(5).value, chain.seconds(2).value) < 1e-6);
  const Timeline timeline = chain.result(3, program).timeline;
  CHECK(timeline.iteration_ms == chain.seconds(3).ms());
  CHECK(timeline.spans.size() == program.ops.size() * 8);
}

// Section 6, law 9: a maximum of means is at most the mean of maxima.
TEST_CASE("without overlap and contention the mean drawn iteration is not below that of the expected batch") {
  const std::string serial = "overlap: false\nnetwork: {name: closed_form}\n";
  for (const char* const planner : {"row_wise", "table_wise", "column_wise", "data_parallel"}) {
    CAPTURE(planner);
    const std::string by = serial + "planner: {name: " + planner + "}\n";
    const double expected = iteration_of(kLogNormal, by);
    const StudyResult study = run_study(scenario_of(kLogNormal, by + "load: {batches: drawn, iterations: 30}\n"), {});
    const IterationSpread& drawn = only(study).drawn->iteration_ms;
    CHECK(drawn.mean >= expected - 4 * drawn.standard_error);
    CHECK(drawn.p5 <= drawn.median);
    CHECK(drawn.median <= drawn.p95);
  }
}

TEST_CASE("wider lengths spread the iterations and lengthen their mean") {
  const auto drawn = [](double sigma) {
    const std::string lengths = fmt::format("length_distribution: {{family: log_normal, sigma: {}}}", sigma);
    const StudyResult study =
        run_study(scenario_of(lengths, "planner: {name: row_wise}\nload: {batches: drawn, iterations: 30}\n"), {});
    return only(study).drawn->iteration_ms;
  };
  const IterationSpread narrow = drawn(0.3), wide = drawn(1.5);
  CHECK(wide.mean > narrow.mean);
  CHECK(wide.p95 - wide.p5 > 2 * (narrow.p95 - narrow.p5));
}

TEST_CASE("a drawn case says how its figures differ, and keeps the iteration nearest to the median") {
  const StudyResult study =
      run_study(scenario_of(kLogNormal, "planner: {name: row_wise}\nload: {batches: drawn, iterations: 9}\n"), {});
  const CaseResult& item = only(study);
  const DrawnFigures& drawn = *item.drawn;
  CHECK(drawn.seed == 3);  // the scenario's
  CHECK(drawn.iterations_ms.size() == 9);
  CHECK(item.iteration_ms == drawn.iteration_ms.mean);
  CHECK(drawn.iteration_ms == iteration_spread(drawn.iterations_ms));
  CHECK(drawn.iteration_ms.median == item.timeline.iteration_ms);  // of an odd number it is one of them
  CHECK(drawn.iterations_ms[static_cast<std::size_t>(drawn.kept) - 3] == item.timeline.iteration_ms);
  CHECK(item.timeline.iterations_run == 12);
  CHECK(off(item.samples_per_s, 8 * 64 / (item.iteration_ms * 1e-3)) < 1e-12);
  CHECK(drawn.figures.at("samples_per_s").mean == item.samples_per_s);
  CHECK(off(drawn.figures.at("samples_per_s").median, 8 * 64 / (drawn.iteration_ms.median * 1e-3)) < 1e-9);
  const auto mean_of = [&](const char* figure) { return drawn.figures.at(figure).mean; };
  CHECK(off(mean_of("compute_ms") + mean_of("exposed_ms") + mean_of("idle_ms"), item.iteration_ms) < 1e-6);
  CHECK(mean_of("estimate.iteration_ms") == doctest::Approx(item.estimate_iteration_ms));
  const double highest = static_cast<double>(item.memory_profile.highest().bytes());
  CHECK(highest >= drawn.figures.at("memory.simulated.largest_bytes").p95);
}

TEST_CASE("a drawn case is the same to the bit for any number of workers and beside other cases") {
  const std::string cases =
      "planner: {name: row_wise}\nload: {batches: drawn, iterations: 5}\ncases:\n"
      "  - {name: rows}\n  - {name: tables, planner: {name: table_wise}}\n";
  const StudyResult one = run_study(scenario_of(kLogNormal, cases), {1, {}, {}});
  const StudyResult two = run_study(scenario_of(kLogNormal, cases), {2, {}, {}});
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(*one.cases[i].drawn == *two.cases[i].drawn);
    CHECK(one.cases[i].timeline == two.cases[i].timeline);
  }
  const StudyResult alone =
      run_study(scenario_of(kLogNormal, "planner: {name: row_wise}\nload: {batches: drawn, iterations: 5}\n"), {});
  CHECK(*one.cases[0].drawn == *alone.cases[0].drawn);
}

TEST_CASE("a pipeline of drawn batches hides the exchange of ids as one of expected batches does") {
  const std::string more = "planner: {name: row_wise}\nload: {batches: drawn, iterations: 12}\n";
  const auto pipelined = [&](const char* pipeline) {
    Scenario scenario = scenario_of(kLogNormal, more);
    scenario.cases.front().workload.pipeline = pipeline;
    scenario.cases.front().workload.input_exchange = "full";
    return run_study(scenario, {}).cases.front().iteration_ms;
  };
  CHECK(pipelined("sparse_dist") < pipelined("none"));
}

}  // namespace shardsim::drawn_batches_test
