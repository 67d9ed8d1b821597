#include "models/load/draws.h"

#include <cmath>
#include <stdexcept>

#include "models/load/batch_draws.h"
#include "tests/models/load/cases/case.h"

// Section 4.3 and 4.4: what is drawn, number by number.

namespace shardsim::golden {
namespace {

DrawPoint point_of(Fields& input) {
  return {input.whole("iteration"), static_cast<int>(input.whole("rank")), static_cast<int>(input.whole("world"))};
}

UniformStream stream_of(Fields& input) {
  const DrawPoint at = point_of(input);
  return {input.text("table"), static_cast<std::uint64_t>(input.whole("seed")),
          static_cast<std::uint64_t>(input.whole("use")), at};
}

// Totals whose mean is given, without bags.
std::int64_t draw_total(Fields& input, const std::string& what, const UniformStream& u) {
  const double mean = input.real("mean_total");
  if (what == "poisson") return draw_poisson(u(0), mean);
  if (what == "negative_binomial") return draw_negative_binomial(u(0), input.real("size_total"), mean);
  throw std::runtime_error("unknown draw " + what);
}

std::int64_t draw_bags(Fields& input, const std::string& what, const UniformStream& u) {
  const LengthSpec spec = case_lengths(input, what);
  const Json* given = input.given("mean");
  double mean = given ? given->get<double>() : static_cast<double>(spec.low + spec.high) / 2;
  for (const LengthSpec::Bin& bin : spec.lengths) mean += given ? 0 : bin.share * static_cast<double>(bin.length);
  return LengthLaw(spec, mean).total(input.whole("bags"), u);
}

Json draw(Fields& input, const UniformStream& u) {
  const std::string what = input.text("what");
  if (what == "multinomial") return draw_multinomial(u, input.whole("n"), input.reals("shares"));
  if (what == "binomial") return draw_binomial(u(0), input.whole("n"), input.real("p"));
  if (input.given("mean_total")) return draw_total(input, what, u);
  return draw_bags(input, what, u);
}

// Draws of `iterations` batches, eight ranks each.
class CommonTables {
 public:
  CommonTables(const LengthSpec& spec, double mean, std::int64_t bags, double sigma, std::vector<std::string> names)
      : law_(spec, mean), bags_(bags), factor_{sigma}, names_(std::move(names)) {}

  FactorSums sums(std::uint64_t seed, const DrawPoint& at) const { return factor_sums(factor_, bags_, seed, at); }

  std::int64_t total(std::size_t table, std::uint64_t seed, const DrawPoint& at, const FactorSums& factors) const {
    return law_.total(factors, UniformStream(names_[table], seed, kLengthDraws, at));
  }

  Sample totals_of_ranks(std::uint64_t seed, int iterations) const {
    Sample sample;
    for (int i = 0; i < iterations * 8; ++i) {
      const DrawPoint at{i / 8, i % 8, 8};
      const FactorSums factors = sums(seed, at);
      std::int64_t all = 0;
      for (std::size_t table = 0; table < names_.size(); ++table) all += total(table, seed, at, factors);
      sample.values.push_back(static_cast<double>(all));
    }
    return sample;
  }

 private:
  LengthLaw law_;
  std::int64_t bags_;
  SampleFactor factor_;
  std::vector<std::string> names_;
};

}  // namespace

Differences check_uniforms(const LoadCase& item) {
  Fields input(item.input, "input");
  const UniformStream u = stream_of(input);
  std::vector<double> got;
  for (std::int64_t a = 0; a < input.whole("count"); ++a) got.push_back(u(static_cast<std::uint64_t>(a)));
  input.finish();
  return differences(item.expected, got, 0);
}

Differences check_draw(const LoadCase& item) {
  Fields input(item.input, "input");
  const UniformStream u = stream_of(input);
  const Json got = draw(input, u);
  input.finish();
  return differences(item.expected, got, 0);
}

// Iteration 0 cell by cell; over all iterations the mean of what every owner gets, within 4 of the stated errors.
Differences check_drawn_exchange(const LoadCase& item) {
  Fields input(item.input, "input");
  const int sources = static_cast<int>(input.whole("sources"));
  const std::int64_t ids = input.whole("ids_per_source"), iterations = input.whole("iterations");
  const std::vector<double> shares = input.reals("shares");
  const BatchDraws draws(input.text("table"), static_cast<std::uint64_t>(input.whole("seed")), sources, LengthSpec{},
                         {{static_cast<double>(ids), 1}}, ids);
  input.finish();
  Json got = Json::array();
  std::vector<double> means(shares.size(), 0);
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (int s = 0; s < sources; ++s) {
      const auto cells = draws.cells(0, i, s, draws.ids(0, i, s), shares);
      if (i == 0) got.push_back(cells);
      for (std::size_t j = 0; j < cells.size(); ++j)
        means[j] += static_cast<double>(cells[j]) / static_cast<double>(iterations);
    }
  }
  Differences found = differences(item.expected.at("cells_of_iteration_0"), got, 0);
  for (std::size_t j = 0; j < means.size(); ++j)
    append(found, apart("mean of owner " + std::to_string(j), item.expected.at("expected_totals").at(j).get<double>(),
                        means[j], 4 * item.standard_error.at(j).get<double>()));
  return found;
}

Differences check_sample_factor(const LoadCase& item) {
  Fields input(item.input, "input");
  LengthSpec spec = case_lengths(input, input.text("family"));
  spec.common = true;
  const CommonTables tables(spec, input.real("mean"), input.whole("bags"), input.real("factor_sigma"),
                            names_between(input.at("tables"), static_cast<std::size_t>(input.whole("count"))));
  Fields golden(input.at("golden"), "golden");
  const DrawPoint at = point_of(golden);
  const auto seed = static_cast<std::uint64_t>(golden.whole("seed"));
  golden.finish();
  input.finish();
  const FactorSums factors = tables.sums(seed, at);
  Json got = {
      {"golden_factor_sums", {factors.first, factors.second, factors.third}},
      {"golden_totals_of_first_two_tables", {tables.total(0, seed, at, factors), tables.total(1, seed, at, factors)}}};
  Differences found = differences(without(item.expected, {"mean", "sd"}), got, 1e-9);
  const Sample drawn = tables.totals_of_ranks(seed, 400);
  append(found,
         apart("mean of drawn totals", item.expected.at("mean").get<double>(), drawn.mean(), 4 * drawn.mean_error()));
  append(found,
         apart("sd of drawn totals", item.expected.at("sd").get<double>(), drawn.spread(), 4 * drawn.spread_error()));
  return found;
}

}  // namespace shardsim::golden
