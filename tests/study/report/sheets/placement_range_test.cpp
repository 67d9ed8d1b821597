// The range that is told of the placements of hot rows, and what further placements make of it.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "base/rng.h"
#include "study/planning/prepared_case.h"
#include "study/report/sheets/how_sure.h"
#include "study/result/case_figures.h"
#include "study/run/study.h"
#include "tests/study/scenario_text.h"

namespace shardsim::placement_range_test {

using namespace shardsim::test;

namespace {

const std::string kHotRows = R"(
schema: shardsim.scenario/1
cluster: {base: dgx_a100_80gb, nodes: 2}
workload:
  name: hot
  batch_per_gpu: 2048
  tables:
    - {name: a, rows: 3000000, dim: 128, kind: pooled, pooling_factor: 40, access: {family: zipf, s: 1.1}}
    - {name: b, rows: 500000, dim: 64, kind: pooled, pooling_factor: 20, access: {family: zipf, s: 1.2}}
    - {name: c, rows: 9000000, dim: 128, kind: sequence, average_length: 30, access: {family: zipf, s: 1.05}}
planner: {name: row_wise}
)";

double simulated(const Scenario& scenario) {
  const Case& item = scenario.cases[0];
  Cluster cluster = cluster_of(item);
  Plan plan = make_plan(item, cluster, scenario.seed, {});
  const PreparedCase prepared(scenario, item, std::move(cluster), std::move(plan));
  return simulated_ms(prepared);
}

}  // namespace

TEST_CASE("a further value lies in the range of 32 in four of five cases") {
  Rng rng(5);
  constexpr int kSamples = 2000;
  double inside = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    std::vector<double> drawn;
    for (int draw = 0; draw < 32; ++draw) drawn.push_back(std::pow(rng.uniform(), 3));
    const FourInFive range = four_in_five(drawn);
    inside += std::cbrt(range.high) - std::cbrt(range.low);  // the share of the law that lies between them
  }
  CHECK(inside / kSamples == doctest::Approx(.8).epsilon(.005));
}

TEST_CASE("of 200 placements that a hash may give, four in five lie in the range that is told") {
  const Scenario scenario = read(kHotRows);
  const StudyResult study = run_study(scenario, {});
  const std::vector<double> told = row_placements_ms(study.cases[0]);
  REQUIRE(told.size() == 32);
  const FourInFive range = four_in_five(told);
  CHECK(range.high > 1.02 * range.low);
  constexpr int kSeeds = 200;
  int inside = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const double ms = simulated(read(kHotRows, set("load", fmt::format("{{placement: {}}}", seed))));
    inside += ms >= range.low && ms <= range.high ? 1 : 0;
  }
  CAPTURE(inside);
  // The ends of 32 draws vary by 7 % of the law, and the count of 200 by 3 %: two standard deviations of both.
  CHECK(inside > .65 * kSeeds);
  CHECK(inside < .95 * kSeeds);
}

}  // namespace shardsim::placement_range_test
