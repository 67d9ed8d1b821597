#include "plan/flexshard_equations.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/plan/test_setting.h"
#include "tests/plan/tier_times.h"

namespace shardsim::flexshard_equations_test {

namespace {

bool within(double value, double expected, double tolerance) {
  return std::abs(value - expected) <= tolerance;
}

}  // namespace

// FlexShard paper, cost table with m = 6, c_mp = 2, c_dp = 1, two passes, B = 4096 on 4 x 8 GPUs.
TEST_CASE("breakpoints of the reference setting") {
  const CostParameters cost;
  CHECK(cost.p_memory() == doctest::Approx(5.96875 / 4096).epsilon(1e-14));
  CHECK(cost.p_crossover() == doctest::Approx(5.25 / 4096).epsilon(1e-14));
  CHECK(cost.p_comm() == doctest::Approx(1.0 / (6 * 4096)).epsilon(1e-14));
  CHECK(cost.p_flex_stop().value() == doctest::Approx(5.1537972909432865e-05).epsilon(1e-12));
  CostParameters one_pass;
  one_pass.passes = 1;
  CHECK(one_pass.p_comm() == doctest::Approx(8.1380208e-5).epsilon(1e-7));
  CostParameters fast_cross;
  fast_cross.bandwidths.all_reduce_cross = 75.9e9;
  CHECK(fast_cross.p_flex_stop().value() == doctest::Approx(7.46927143614969e-06).epsilon(1e-12));
}

TEST_CASE("no row may be Flex when the node is no faster than the cluster") {
  CostParameters cost;
  cost.bandwidths.all_to_all_intra = cost.bandwidths.all_to_all_global;
  CHECK_FALSE(cost.p_flex_stop().has_value());
}

TEST_CASE("breakpoints stay thresholds at the edges of the parameters") {
  CostParameters no_saving;  // DP saves no activations: never better in memory
  no_saving.dp_copies = no_saving.mp_copies;
  CHECK(std::isinf(no_saving.p_memory()));
  CostParameters one_gpu;  // a Flex copy is a full copy
  one_gpu.per_node = 1;
  CHECK(one_gpu.p_crossover() == 0);
}

TEST_CASE("named points A, B, C of the fitted models within two rows") {
  const nlohmann::json points = flexshard_points();
  for (const auto& item : points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
    CAPTURE(model);
    const NamedPoints named = named_points({}, study_table(points, model).distribution());
    CHECK(within(static_cast<double>(named.a), entry["a"], 2));
    CHECK(within(static_cast<double>(named.b), entry["b"], 2));
    CHECK(within(static_cast<double>(named.c), entry["c"], 2));
    CHECK(named.d == entry["rows"].get<std::uint64_t>());
  }
}

// FlexShard paper, Figure 5: x time, y memory of the first n rows as DP instead of row-wise; 0.2 MB and 0.02 ms.
TEST_CASE("the curve of Figure 5 for every model") {
  const nlohmann::json points = flexshard_points();
  const CostParameters cost;
  for (const auto& item : points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
    const AccessDistribution rows = study_table(points, model).distribution();
    for (const auto& sample : entry["figure5"]) {
      CAPTURE(model);
      CAPTURE(sample[0].get<double>());
      const auto n =
          static_cast<std::uint64_t>(std::round(sample[0].get<double>() / 100 * entry["rows"].get<double>()));
      CHECK(within(dp_memory_delta(cost, rows, 1024, n) / 1e6, sample[1], 0.2));
      CHECK(within(dp_time_delta(cost, rows, 1024, n) * 1e3, sample[2], 0.02));
    }
  }
}

TEST_CASE("named points lie on the curve of Figure 5 where the paper's equations put them") {
  const nlohmann::json points = flexshard_points();
  const CostParameters cost;
  for (const auto& item : points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
    CAPTURE(model);
    const AccessDistribution rows = study_table(points, model).distribution();
    const NamedPoints named = named_points(cost, rows);
    const auto check = [&](const char* name, std::uint64_t n) {
      const auto& expected = entry["figure5_named"][name];
      CAPTURE(name);
      CHECK(within(100.0 * static_cast<double>(n) / entry["rows"].get<double>(), expected[0], 0.00011));
      CHECK(within(dp_memory_delta(cost, rows, 1024, n) / 1e6, expected[1], 0.2));
      CHECK(within(dp_time_delta(cost, rows, 1024, n) * 1e3, expected[2], 0.02));
    };
    check("A", named.a);
    check("B", named.b);
    check("C", named.c);
    check("D", named.d);
  }
}

TEST_CASE("the Pareto curve samples evenly and holds the points A and C of its range") {
  const nlohmann::json points = flexshard_points();
  const AccessDistribution rows = study_table(points, "RM-1").distribution();
  const auto short_curve = pareto_curve({}, rows, 1024, 330'000, 11);  // 0.1 % steps up to 1.1 %
  REQUIRE(short_curve.size() == 13);                                   // 12 samples and A at 100,058
  CHECK(short_curve[1].rows == 30'000);
  CHECK(within(short_curve[1].memory_bytes / 1e6, -605.9, 0.2));
  CHECK(within(static_cast<double>(short_curve[4].rows), 100'058, 2));
  const auto whole = pareto_curve({}, rows, 1024, 30'000'000, 10);
  REQUIRE(whole.size() == 13);  // 11 samples, A and C
  CHECK(whole.front().rows == 0);
  CHECK(whole.back().rows == 30'000'000);
  const auto lowest = std::min_element(whole.begin(), whole.end(), [](const ParetoPoint& a, const ParetoPoint& b) {
    return a.memory_bytes < b.memory_bytes;
  });
  CHECK(within(static_cast<double>(lowest->rows), 100'058, 2));  // A: lowest memory
  const auto fastest = std::min_element(whole.begin(), whole.end(), [](const ParetoPoint& a, const ParetoPoint& b) {
    return a.time_seconds < b.time_seconds;
  });
  CHECK(within(static_cast<double>(fastest->rows), 2'707'293, 2));  // C: lowest time
}

// Times of the published-cut plans (docs/flexshard.md): sums of the four collectives, ms.
TEST_CASE("times of the four collectives of tiered tables") {
  const nlohmann::json points = flexshard_points();
  const CostParameters cost;
  for (const auto& item : points["models"].items()) {
    const std::string& model = item.key();
    const nlohmann::json& entry = item.value();
    CAPTURE(model);
    const AccessDistribution rows = study_table(points, model).distribution();
    CHECK(within(tier_times(cost, rows, 1024, 0, 0).sum() * 1e3, entry["row_wise_ms"], 0.01));
    for (const char* cut : {"paper", "crossover", "bandwidth_stop", "optimal"}) {
      CAPTURE(cut);
      const TierTimes times = tier_times(cost, rows, 1024, entry[cut]["dp"], entry[cut]["flex"]);
      CHECK(within(times.sum() * 1e3, entry[cut]["sum_ms"], 0.01));
    }
  }
  const TierTimes rm1 = tier_times(cost, study_table(points, "RM-1").distribution(), 1024, 100'032, 1'184'448);
  CHECK(within(rm1.global_all_to_all * 1e3, 103.86, 0.01));
  CHECK(within(rm1.intra_all_to_all * 1e3, 31.11, 0.01));
  CHECK(within(rm1.global_all_reduce * 1e3, 1.35, 0.01));
  CHECK(within(rm1.cross_all_reduce * 1e3, 13.78, 0.01));
}

}  // namespace shardsim::flexshard_equations_test
