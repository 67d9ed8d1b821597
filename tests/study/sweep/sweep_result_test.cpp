#include "study/sweep/sweep_result.h"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "base/tree/yaml.h"
#include "study/report/wording.h"

namespace shardsim::sweep_result_test {
namespace {

Axis axis_of(const std::string& path, const std::vector<std::string>& texts) {
  Axis axis{path, {}, {}};
  for (const std::string& text : texts) axis.values.push_back({text_tree(text), text, amount_of(text)});
  return axis;
}

Sweep sweep_over(std::vector<Axis> axes) {
  Sweep sweep;
  sweep.product = 1;
  for (Axis& axis : axes) {
    sweep.product *= axis.values.size();
    sweep.dimensions.push_back({{std::move(axis)}});
  }
  for (std::uint32_t point = 0; point < sweep.product; ++point) sweep.points.push_back(point);
  return sweep;
}

PointResult point_of(int world, double samples_per_s, std::int64_t memory = 1, std::optional<double> cost = {}) {
  PointResult result;
  result.world_size = world;
  result.samples_per_s = samples_per_s;
  result.peak_bytes = result.memory_bytes = memory;
  result.memory_capacity = std::int64_t{80} << 30;
  result.cost_per_hour = cost;
  return result;
}

SweepResult result_of(const Sweep& sweep, std::vector<PointResult> results) {
  for (std::size_t i = 0; i < results.size(); ++i) results[i].point = static_cast<std::uint32_t>(i);
  return sweep_result(sweep, std::move(results));
}

const SweepColumn& column(const std::vector<SweepColumn>& columns, const std::string& name) {
  for (const SweepColumn& each : columns)
    if (each.name == name) return each;
  FAIL("no column ", name);
  return columns.front();
}

}  // namespace

TEST_CASE("a point has the mark that run gives to what was never measured, and the last column says what that is") {
  const Sweep sweep = sweep_over({axis_of("cluster.nodes", {"1", "2"})});
  PointResult known = point_of(8, 800), unknown = point_of(16, 1600);
  known.iteration_ms = unknown.iteration_ms = 20;
  known.interval.emplace();
  known.interval->low_ms = 17;
  known.interval->high_ms = 27;
  unknown.interval = known.interval;
  unknown.interval->outside = {"no published run on toy", "no published run of torchrec on TCP"};
  const SweepResult result = result_of(sweep, {known, unknown});
  CHECK(interval_cell(*result.at(0).interval) == "17-27");
  CHECK(interval_cell(*result.at(1).interval) == "17-27?");
  const std::vector<SweepColumn> columns = sweep_columns(result);
  CHECK(columns.back().name == "outside");
  CHECK(std::get<std::vector<std::string>>(columns.back().values) ==
        std::vector<std::string>{"", "no published run on toy; no published run of torchrec on TCP"});
}

TEST_CASE("scaling is measured against the smallest world with the same values elsewhere") {
  const Sweep sweep =
      sweep_over({axis_of("cluster.nodes", {"1", "2", "4"}), axis_of("workload.batch_per_gpu", {"8", "16"})});
  const SweepResult result = result_of(sweep, {point_of(8, 800), point_of(8, 1600), point_of(16, 1200),
                                               point_of(16, 3200), point_of(32, 1600), point_of(32, 4800)});
  CHECK(result.changes_world == std::vector<bool>{true, false});
  const std::vector<double> due = {1, 1, 0.75, 1, 0.5, 0.75};
  for (std::size_t i = 0; i < due.size(); ++i) CHECK(result.scaling_efficiency[i] == doctest::Approx(due[i]));
}

TEST_CASE("where the smallest world has no result the next one is the measure, and one world has none") {
  const Sweep sweep = sweep_over({axis_of("cluster.nodes", {"1", "2", "4"})});
  PointResult failed = point_of(0, 0);
  failed.outcome = PointResult::Outcome::does_not_fit;
  const SweepResult result = result_of(sweep, {failed, point_of(16, 1600), point_of(32, 2400)});
  CHECK_FALSE(result.scaling_efficiency[0].has_value());
  CHECK(result.scaling_efficiency[1] == doctest::Approx(1));
  CHECK(result.scaling_efficiency[2] == doctest::Approx(0.75));
  CHECK(result.without_result() == 1);
  const Sweep rates = sweep_over({axis_of("cluster.nics.rate", {"1 Gbit/s", "2 Gbit/s"})});
  CHECK_FALSE(result_of(rates, {point_of(8, 1), point_of(8, 2)}).scaling_efficiency[0].has_value());
}

TEST_CASE("a machine scales against itself alone, whatever an axis over clusters calls its sizes") {
  Axis clusters{"cluster", {}, {}};
  for (const char* const text :
       {"{base: h100, label: small, nodes: 4, cost_per_gpu_hour: 2}", "{base: h100, label: large, nodes: 8}", "h100",
        "{base: b200, label: other, nodes: 8}", "{base: h100, nodes: 2, nics: {rate: 1 GB/s}}"})
    clusters.values.push_back({parse_yaml(std::string("a: ") + text, "a.yaml").fields.front().second, text, {}});
  const Sweep sweep = sweep_over({clusters});
  const SweepResult result =
      result_of(sweep, {point_of(32, 320), point_of(64, 480), point_of(8, 160), point_of(64, 9600), point_of(16, 16)});
  const std::vector<std::optional<double>> due = {0.5, 0.375, 1, {}, {}};
  for (std::size_t i = 0; i < due.size(); ++i) {
    CAPTURE(i);
    REQUIRE(result.scaling_efficiency[i].has_value() == due[i].has_value());
    if (due[i]) CHECK(*result.scaling_efficiency[i] == doctest::Approx(*due[i]));
  }
  CHECK(result.scaling_base == std::vector<std::size_t>{2, 2, 2, 3, 4});
}

TEST_CASE("rows in host memory have a column beside the memory of the GPUs") {
  const Sweep sweep = sweep_over({axis_of("x", {"1", "2"})});
  PointResult spilt = point_of(8, 1);
  spilt.host_bytes = std::int64_t{3} << 30;
  const SweepResult result = result_of(sweep, {spilt, point_of(8, 2)});
  CHECK(std::get<std::vector<double>>(column(sweep_columns(result), "host_gib").values) == std::vector<double>{3, 0});
}

TEST_CASE("a plan that TorchRec cannot run says why, in a column") {
  const Sweep sweep = sweep_over({axis_of("x", {"1", "2"})});
  PointResult tiers = point_of(8, 1);
  tiers.beyond_torchrec = "tiers of rows (history)";
  const SweepResult result = result_of(sweep, {tiers, point_of(8, 2)});
  CHECK(std::get<std::vector<std::string>>(column(sweep_columns(result), "beyond_torchrec").values) ==
        std::vector<std::string>{"tiers of rows (history)", ""});
}

TEST_CASE("the front has what no other point beats, equals too, and nothing without a result") {
  const Sweep sweep = sweep_over({axis_of("x", {"1", "2", "3", "4", "5", "6"})});
  PointResult failed = point_of(8, 1e9, 0);
  failed.outcome = PointResult::Outcome::failed;
  const SweepResult result =
      result_of(sweep, {point_of(8, 100, 10, 1.0), point_of(8, 100, 10, 1.0), point_of(8, 90, 10, 1.0),
                        point_of(8, 90, 5, 1.0), point_of(8, 50, 20, 0.1), failed});
  CHECK(result.pareto == std::vector<bool>{true, true, false, true, true, false});
}

TEST_CASE("the cost of a million samples is that of the hours they take") {
  const Sweep sweep = sweep_over({axis_of("x", {"1", "2"})});
  const SweepResult result = result_of(sweep, {point_of(8, 1000, 1, 36.0), point_of(8, 1000)});
  CHECK(*result.cost_per_million_samples(0) == doctest::Approx(10));  // 1,000 s of 0.01 a second
  CHECK_FALSE(result.cost_per_million_samples(1).has_value());
}

TEST_CASE("an axis of numbers is a column in the unit of its first value, any other one of texts") {
  const Sweep sweep =
      sweep_over({axis_of("cluster.nics.rate", {"100 Gbit/s", "25 GB/s"}), axis_of("planner", {"a", "b,c"})});
  const std::vector<SweepColumn> columns =
      sweep_columns(result_of(sweep, {point_of(8, 1), point_of(8, 2), point_of(8, 3), point_of(8, 4)}));
  const SweepColumn& rate = column(columns, "cluster.nics.rate");
  CHECK(rate.unit == "Gbit/s");
  CHECK(std::get<std::vector<double>>(rate.values) == std::vector<double>{100, 100, 200, 200});
  CHECK(std::get<std::vector<std::string>>(column(columns, "planner").values) ==
        std::vector<std::string>{"a", "b,c", "a", "b,c"});
  const std::string csv = sweep_csv(columns);
  CHECK(csv.starts_with("point,cluster.nics.rate [Gbit/s],planner,outcome,"));
  CHECK(csv.find("\n1,100,\"b,c\",ok,8,") != std::string::npos);
}

TEST_CASE("what has no result is no number") {
  const Sweep sweep = sweep_over({axis_of("x", {"1", "2"})});
  PointResult failed;
  failed.outcome = PointResult::Outcome::failed;
  failed.message = "no";
  const std::vector<SweepColumn> columns = sweep_columns(result_of(sweep, {failed, point_of(8, 4)}));
  CHECK(std::isnan(std::get<std::vector<double>>(column(columns, "iteration_ms").values)[0]));
  CHECK(std::get<std::vector<std::string>>(column(columns, "outcome").values) ==
        std::vector<std::string>{"failed", "ok"});
  CHECK(sweep_csv(columns).find("\n0,1,failed,,,,") != std::string::npos);
}

}  // namespace shardsim::sweep_result_test
