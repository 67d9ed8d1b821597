#include "study/result/cross_check.h"

#include <doctest/doctest.h>

#include <numeric>

#include "study/report/charts/chart_data.h"
#include "study/report/documents/result_json.h"
#include "study/report/sheets/result_sheets.h"
#include "study/result/result.h"

namespace shardsim::cross_check_test {

namespace {

// A case that is simulated at `simulated` ms and estimated at `estimated`; the whole difference is one effect.
CaseResult checked(const std::string& name, double estimated, double simulated, Effect effect) {
  CaseResult item;
  item.name = name;
  item.workload = "model";
  item.cluster = "machine";
  item.iteration_ms = simulated;
  EstimatedCase torchrec;
  torchrec.estimate.iteration_ms = torchrec.estimate.mean.lookup = estimated;
  RemovedEffects& removed = torchrec.removed;
  removed.even.lookups = estimated;
  removed.uncontended = removed.serial = removed.without_starts = simulated;
  if (effect == Effect::contention) removed.uncontended = removed.serial = removed.without_starts = estimated;
  if (effect == Effect::start_ups) removed.without_starts = estimated;
  torchrec.effects = effects_between(torchrec.estimate, removed, simulated);
  item.torchrec = torchrec;
  return item;
}

// Estimated order a b c d; simulated b c d a.
StudyResult study() {
  StudyResult result;
  result.cases = {checked("a", 10, 40, Effect::uneven_loads), checked("b", 11, 12, Effect::contention),
                  checked("c", 14, 15, Effect::start_ups), checked("d", 20, 21, Effect::contention)};
  return result;
}

double at(const EffectTimes& times, Effect effect) {
  return times[static_cast<std::size_t>(effect)];
}

double sum(const EffectTimes& times) {
  return std::accumulate(times.begin(), times.end(), 0.0);
}

}  // namespace

TEST_CASE("effects of a case are differences of its simulations, and add up") {
  CaseResult item = checked("x", 10, 30, Effect::uneven_loads);
  EstimatedCase& torchrec = *item.torchrec;
  torchrec.estimate.mean = {2, 1, 1, 1, 0.5, 0.25, 0.25};  // 6 of 10 ms on the average rank
  torchrec.removed = {28, 41, 35, {1, 2, 3, 4, 5, 6, 7}};
  const EffectTimes effects = effects_between(torchrec.estimate, torchrec.removed, 30);
  CHECK(at(effects, Effect::contention) == 2);
  CHECK(at(effects, Effect::overlap) == -13);
  CHECK(at(effects, Effect::start_ups) == 6);
  CHECK(at(effects, Effect::uneven_loads) == 35 - 28 - 4);
  CHECK(at(effects, Effect::ids) == 1);
  CHECK(at(effects, Effect::other_work) == 1.5);
  CHECK(at(effects, Effect::lookups) == 1);
  CHECK(at(effects, Effect::updates) == 3);
  CHECK(at(effects, Effect::all_to_all) == 4);
  CHECK(at(effects, Effect::reduce_scatter) == 5);
  CHECK(at(effects, Effect::all_reduce) == 6.5);
  CHECK(sum(effects) == doctest::Approx(30 - 10));
}

// Places 1 2 3 4 and 4 1 2 3: squared differences 9 + 1 + 1 + 1, so 1 - 6 x 12 / (4 x 15) = -0.2; three of six pairs
// are reversed. The estimate's choice takes 40 ms, the fastest 12.
TEST_CASE("correlation and regret of a group, worked by hand") {
  const StudyResult result = study();
  const std::vector<CrossCheck> checks = cross_checks(result, 2);
  REQUIRE(checks.size() == 1);
  const CrossCheck& check = checks[0];
  CHECK(check.spearman == doctest::Approx(-0.2));
  CHECK(check.kendall == doctest::Approx(0));
  CHECK(result.cases[check.estimates_choice].name == "a");
  CHECK(result.cases[check.fastest].name == "b");
  CHECK(check.regret_pct == doctest::Approx(100 * (40.0 / 12 - 1)));
  CHECK(at(check.mean_effects, Effect::uneven_loads) == doctest::Approx(7.5));
}

TEST_CASE("the term that would put the orders right is found") {
  const std::vector<CrossCheck> checks = cross_checks(study(), 2);
  REQUIRE(checks[0].missing.size() == 1);
  CHECK(checks[0].missing[0].effect == Effect::uneven_loads);
  CHECK(checks[0].missing[0].spearman == doctest::Approx(1));
  CHECK(at(checks[0].spearman_with, Effect::uneven_loads) == doctest::Approx(1));
}

TEST_CASE("the worst plan is explained against those that it changes places with") {
  const StudyResult result = study();
  const std::vector<CrossCheck> checks = cross_checks(result, 2);
  REQUIRE(checks[0].worst.size() == 2);
  const ExplainedPlan& worst = checks[0].worst[0];
  CHECK(result.cases[worst.index].name == "a");
  CHECK(worst.too_good());
  CHECK(worst.changed == 3);
  CHECK(worst.largest() == Effect::uneven_loads);
  CHECK(at(worst.here, Effect::uneven_loads) == doctest::Approx(30));
  CHECK(at(worst.others, Effect::contention) == doctest::Approx(2.0 / 3));
  // Its error is what remains of simulated - estimated beside the same of the others.
  double error = 0;
  for (std::size_t i = 0; i < kEffects; ++i) error += worst.excess(effect_at(i));
  CHECK(error == doctest::Approx(30 - 1));
  const std::string text = explanation(worst, result);
  CHECK(text.find("uneven loads, which makes it 30.00 ms slower") != std::string::npos);
  const ExplainedPlan& next = checks[0].worst[1];
  CHECK_FALSE(next.too_good());
  CHECK(next.changed == 1);
  CHECK(next.largest() == Effect::uneven_loads);
}

TEST_CASE("cases of other workloads or clusters are other groups; two cases are no order") {
  StudyResult result = study();
  result.cases[3].workload = "other";
  CHECK(cross_checks(result, 5)[0].cases == std::vector<std::size_t>{0, 1, 2});
  result.cases[2].cluster = "other";
  CHECK(cross_checks(result, 5).empty());
}

TEST_CASE("cases without an estimate are left out, plans in their places are not explained") {
  StudyResult result = study();
  result.cases[0].torchrec.reset();
  const std::vector<CrossCheck> checks = cross_checks(result, 5);
  CHECK(checks[0].spearman == doctest::Approx(1));
  CHECK(checks[0].worst.empty());
  CHECK(checks[0].missing.empty());
  result.cross_checks = checks;
  CHECK(worst_sheet(result).rows.empty());
}

TEST_CASE("the chart marks what the sentences name") {
  const StudyResult result = study();
  const DataSet points = cross_check_points(cross_checks(result, 2)[0], result);
  REQUIRE(points.rows.size() == 4);
  const auto text = [&](std::size_t row, std::size_t column) {
    return std::get<std::string>(points.rows[row][column]);
  };
  CHECK(text(0, 3) == "choice");
  CHECK(text(0, 4) == "1: a");
  CHECK(text(1, 3) == "fastest");
  CHECK(text(2, 3) == "plan");
  CHECK(text(2, 4).empty());
  CHECK(std::get<double>(points.rows[3][1]) == 20);
  CHECK(std::get<double>(points.rows[3][2]) == 21);
}

TEST_CASE("the result file has the keys only where they were asked for") {
  StudyResult result = study();
  result.cross_checks = cross_checks(result, 2);
  const std::string with = result_to_json(result);
  CHECK(with.find("\"cross_checks\"") != std::string::npos);
  CHECK(with.find("\"kendall_tau_b\"") != std::string::npos);
  CHECK(with.find("\"uneven_loads\"") != std::string::npos);
  for (CaseResult& item : result.cases) item.torchrec.reset();
  result.cross_checks.clear();
  const std::string without = result_to_json(result);
  CHECK(without.find("cross_check") == std::string::npos);
  CHECK(without.find("torchrec") == std::string::npos);
}

TEST_CASE("the sentences hold the figures") {
  StudyResult result = study();
  const CrossCheck check = cross_checks(result, 2)[0];
  const std::string text = cross_check_text(check, result);
  CHECK(text.find("-0.200 (Spearman), 0.000 (Kendall)") != std::string::npos);
  CHECK(text.find("233.3 % longer") != std::string::npos);
  CHECK(missing_text(check) == "With the simulation's uneven loads in the estimate, Spearman's would be 1.000.");
}

}  // namespace shardsim::cross_check_test
