#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/statistics.h"
#include "models/load/batch_draws.h"
#include "tests/models/load/cases/case.h"
#include "tests/models/load/largest_rank.h"

// Section 4 in the large: laws of lengths, totals of ranks and the largest of them.

namespace shardsim::golden {
namespace {

constexpr std::size_t kDraws = 24'576;  // 3,072 groups of 8 ranks, 96 of 256

// Totals of many ranks, by the rule of drawing.
Sample drawn_totals(const LengthLaw& law, std::int64_t bags) {
  Sample sample;
  for (std::size_t i = 0; i < kDraws; ++i) {
    const UniformStream u("totals", 1, kLengthDraws, {static_cast<std::int64_t>(i), 0, 1});
    sample.values.push_back(static_cast<double>(law.total(bags, u)));
  }
  return sample;
}

Differences check_largest(const Sample& totals, const std::string& ranks, double wanted, double mean) {
  const Sample largest = totals.largest_of(std::stoul(ranks));
  return apart("e_max_over_mean." + ranks, wanted, largest.mean() / mean, 4 * largest.mean_error() / mean);
}

// The distance of the drawn totals' distribution function from `level` at the stated quantile; 0 where it jumps over
// it.
double distance_at(const std::vector<double>& sorted, double quantile, double level) {
  const auto n = static_cast<double>(sorted.size());
  const double below = static_cast<double>(std::ranges::lower_bound(sorted, quantile) - sorted.begin()) / n;
  const double up_to = static_cast<double>(std::ranges::upper_bound(sorted, quantile) - sorted.begin()) / n;
  return std::max({0.0, below - level, level - up_to});
}

Differences check_quantiles(Sample totals, const Json& quantiles) {
  std::ranges::sort(totals.values);
  const double most = 1.9 / std::sqrt(static_cast<double>(kDraws)) + 0.001;
  Differences found;
  for (const auto& [level, value] : quantiles.items()) {
    const double distance = distance_at(totals.values, value.get<double>(), std::stod(level));
    append(found, apart("distribution function at quantile " + level, 0, distance, most));
  }
  return found;
}

double mean_of(const LengthSpec& spec, Fields& input) {
  const Json* mean = input.given("mean");
  if (mean) return mean->get<double>();
  double sum = spec.family == "uniform_int" ? static_cast<double>(spec.low + spec.high) / 2 : 0;
  for (const LengthSpec::Bin& bin : spec.lengths) sum += bin.share * static_cast<double>(bin.length);
  return sum;
}

}  // namespace

Differences check_length_law(const LoadCase& item) {
  Fields input(item.input, "input");
  const LengthSpec spec = case_lengths(input, input.text("family"));
  const LengthLaw law(spec, mean_of(spec, input));
  input.finish();
  const Cumulants one = law.cumulants();
  Json got = {{"mean", one.mean},
              {"variance", one.variance},
              {"third_central_moment", one.third},
              {"inner_mean", law.inner_mean()},
              {"probability", Json::object()}};
  const Json expected = stated(item.expected);
  if (expected.contains("probability")) {
    for (const auto& [length, unused] : expected.at("probability").items())
      got["probability"][length] = law.probability(std::stoll(length));
  }
  const double cube = std::pow(std::max(one.variance, 1e-300), 1.5);
  Differences found = differences(only(expected, {"probability", "inner_mean"}), got,
                                  tolerance_of(item, "probability_relative"), 1e-15);
  append(found, differences(only(expected, {"mean", "variance"}), got, tolerance_of(item, "variance_relative")));
  append(found, differences(without(expected, {"probability", "inner_mean", "mean", "variance"}), got,
                            tolerance_of(item, "third_relative"), 1e-9 * cube));
  return found;
}

// Moments to 1e-6, but for the skewness of log-normal lengths, of which the file's value leaves out the longest bags:
// as the cases of the lengths themselves say, to 1e-4.
Differences check_rank_total(const LoadCase& item) {
  Fields input(item.input, "input");
  const LengthSpec spec = case_lengths(input, input.text("family"));
  const LengthLaw law(spec, mean_of(spec, input));
  const std::int64_t bags = input.whole("bags");
  input.finish();
  const auto n = static_cast<double>(bags);
  const Cumulants one = law.cumulants();
  const double mean = n * one.mean, sd = std::sqrt(n * one.variance);
  const Json got = {{"mean", mean}, {"sd", sd}, {"skewness", n * one.third / (sd * sd * sd)}};
  Differences found = differences(only(item.expected, {"mean", "sd"}), got, 1e-6);
  append(found, differences(only(item.expected, {"skewness"}), got, spec.family == "log_normal" ? 1e-4 : 1e-6, 1e-6));
  const Sample totals = drawn_totals(law, bags);
  append(found, apart("mean of drawn totals", mean, totals.mean(), 4 * totals.mean_error()));
  append(found, apart("sd of drawn totals", sd, totals.spread(), 4 * totals.spread_error()));
  append(found, check_quantiles(totals, item.expected.at("quantiles")));
  for (const auto& [ranks, wanted] : item.expected.at("e_max_over_mean").items())
    append(found, check_largest(totals, ranks, wanted.get<double>(), mean));
  return found;
}

Differences check_log_normal_maximum(const LoadCase& item) {
  Fields input(item.input, "input");
  const double mean = input.real("mean");
  input.finish();
  Differences found;
  std::map<std::pair<double, std::int64_t>, Sample> drawn;
  for (const Json& cell : item.expected) {
    Fields fields(cell, "a value");
    LengthSpec spec;
    spec.family = "log_normal";
    spec.sigma = fields.real("sigma");
    const std::int64_t bags = fields.whole("bags"), ranks = fields.whole("ranks");
    const LengthLaw law(spec, mean);
    Sample& totals = drawn[{spec.sigma, bags}];
    if (totals.values.empty()) totals = drawn_totals(law, bags);
    const double all = mean * static_cast<double>(bags);
    append(found, check_largest(totals, std::to_string(ranks), fields.real("e_max_over_mean"), all));
    const Json got = {{"with_skewness_term", largest_total(law.cumulants(), bags, static_cast<int>(ranks))},
                      {"normal", largest_total({mean, law.cumulants().variance, 0}, bags, static_cast<int>(ranks))}};
    // The two approximations come without a tolerance, and the file's moments leave out the longest bags.
    append(found, differences(only(cell, {"with_skewness_term"}), got, 1e-3));
    append(found, differences(only(cell, {"normal"}), got, 1e-5));
  }
  return found;
}

Differences check_maximum_of_normals(const LoadCase& item) {
  Fields input(item.input, "input");
  Json got = {{"mean", Json::array()}, {"mean_square", Json::array()}};
  for (const double ranks : input.reals("ranks")) {
    const LargestNormal largest = largest_normal(static_cast<int>(ranks));
    got["mean"].push_back(largest.mean);
    got["mean_square"].push_back(largest.mean_square);
  }
  input.finish();
  return differences(stated(item.expected), got, tolerance_of(item, "relative"));
}

// "drawn mean within 4 standard errors + 0.0005", the errors of both samples.
Differences check_hottest_owner(const LoadCase& item) {
  Fields input(item.input, "input"), expected(item.expected, "expected");
  const auto owners = static_cast<std::size_t>(input.whole("owners"));
  const double each = input.real("ids_per_owner");
  if (!input.flag("equal_shares", false) || owners == 0) return {"only equal shares of some owners are understood"};
  input.finish();
  const auto ids = static_cast<std::int64_t>(each * static_cast<double>(owners) + 0.5);
  Sample sample;
  for (int i = 0; i < 4000; ++i) {
    const UniformStream u("owners", 1, kOwnerDraws, {i, 0, 1});
    const auto counts = draw_multinomial(u, ids, std::vector<double>(owners, 1.0 / static_cast<double>(owners)));
    sample.values.push_back(static_cast<double>(*std::ranges::max_element(counts)) / each);
  }
  const double stated_error = item.standard_error.is_number() ? item.standard_error.get<double>() : 0;
  Differences found = apart("e_max_over_mean", expected.real("e_max_over_mean"), sample.mean(),
                            4 * std::hypot(stated_error, sample.mean_error()) + 0.0005);
  append(found, apart("formula", expected.real("formula"), largest_owner(static_cast<int>(owners), each), 1e-6));
  return found;
}

Differences check_spread(const LoadCase& item) {
  Fields input(item.input, "input");
  const IterationSpread spread = iteration_spread(input.reals("iteration_ms"));
  input.finish();
  const Json got = {{"mean", spread.mean},
                    {"median", spread.median},
                    {"p5", spread.p5},
                    {"p95", spread.p95},
                    {"standard_error", spread.standard_error}};
  return differences(stated(item.expected), got, tolerance_of(item, "relative"));
}

}  // namespace shardsim::golden
