#include "models/load/length_law.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/models/load/largest_rank.h"

namespace shardsim::length_law_test {

namespace {

LengthSpec family(const std::string& name) {
  LengthSpec spec;
  spec.family = name;
  return spec;
}

LengthSpec log_normal(double sigma, std::int64_t most = 0) {
  LengthSpec spec = family("log_normal");
  spec.sigma = sigma;
  spec.most = most;
  return spec;
}

LengthSpec uniform_int(std::int64_t low, std::int64_t high) {
  LengthSpec spec = family("uniform_int");
  spec.low = low;
  spec.high = high;
  return spec;
}

LengthSpec negative_binomial(double size) {
  LengthSpec spec = family("negative_binomial");
  spec.size = size;
  return spec;
}

LengthSpec histogram(std::vector<LengthSpec::Bin> lengths) {
  LengthSpec spec = family("histogram");
  spec.lengths = std::move(lengths);
  return spec;
}

UniformStream stream(std::int64_t iteration, int rank = 0) {
  return {"t", 1, kLengthDraws, {iteration, rank, 8}};
}

void refused(const LengthSpec& spec, double mean, const std::string& why) {
  try {
    LengthLaw(spec, mean, {"w.yaml", 7, 3});
    FAIL("not refused: " << why);
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::input);
    CHECK(error.place().line == 7);
    CHECK_MESSAGE(std::string(error.what()).find(why) != std::string::npos, error.what());
  }
}

}  // namespace

TEST_CASE("probabilities add up to 1 and have the moments that the law states") {
  const std::pair<LengthSpec, double> laws[] = {{log_normal(0.5), 20},
                                                {log_normal(1.2, 60), 20},
                                                {family("poisson"), 2.5},
                                                {family("geometric"), 8},
                                                {negative_binomial(3), 20},
                                                {uniform_int(1, 9), 5},
                                                {histogram({{0, 0.5}, {5, 0.4}, {100, 0.1}}), 12}};
  for (const auto& entry : laws) {
    const double mean = entry.second;
    CAPTURE(entry.first.family);
    const LengthLaw law(entry.first, mean);
    double sum = 0, first = 0, second = 0, third = 0;
    for (std::int64_t x = 0; x <= 4000; ++x) {
      const double p = law.probability(x), off = static_cast<double>(x) - mean;
      sum += p;
      first += p * static_cast<double>(x);
      second += p * off * off;
      third += p * off * off * off;
    }
    CHECK(sum == doctest::Approx(1).epsilon(1e-9));
    CHECK(first == doctest::Approx(mean).epsilon(1e-6));
    CHECK(law.cumulants().mean == doctest::Approx(mean).epsilon(1e-6));
    CHECK(law.cumulants().variance == doctest::Approx(second).epsilon(1e-3));
    CHECK(std::abs(law.cumulants().third - third) <= 1e-3 * std::abs(third) + 1e-6);
    CHECK(law.probability(-1) == 0);
  }
}

TEST_CASE("lengths that hardly vary around a whole mean have the totals of fixed ones, however many bags there are") {
  for (const double sigma : {1e-6, 1e-9, 1e-12}) {
    for (const double mean : {1.0, 20.0, 1000.0}) {
      const LengthLaw law(log_normal(sigma), mean), fixed(family("fixed"), mean);
      for (const std::int64_t bags : {8, 256, 257, 512, 8192}) {
        // Within five standard errors of what lengths so near a whole number leave over.
        const double most = 5 * std::sqrt(static_cast<double>(bags) * sigma * mean);
        for (int i = 0; i < 20; ++i)
          CHECK(static_cast<double>(std::abs(law.total(bags, stream(i)) - fixed.total(bags, stream(i)))) <= most);
      }
    }
  }
}

TEST_CASE("the same seed gives the same numbers, another rank, batch, table, use or seed others") {
  const UniformStream u = stream(3, 2);
  CHECK(u(5) == stream(3, 2)(5));
  CHECK(u(5) != u(6));
  CHECK(u(5) != stream(4, 2)(5));
  CHECK(u(5) != stream(3, 3)(5));
  CHECK(u(5) != UniformStream("s", 1, kLengthDraws, {3, 2, 8})(5));
  CHECK(u(5) != UniformStream("t", 2, kLengthDraws, {3, 2, 8})(5));
  CHECK(u(5) != UniformStream("t", 1, kLengthDraws + 1, {3, 2, 8})(5));
  const LengthLaw law(log_normal(1), 100);
  for (int rank = 0; rank < 8; ++rank) CHECK(law.total(1024, stream(1, rank)) == law.total(1024, stream(1, rank)));
}

TEST_CASE("draws stay in their range and follow u") {
  for (const double p : {0.0, 1e-9, 0.01, 0.5, 0.500001, 0.9, 1.0}) {
    for (const std::int64_t n : {0, 1, 50, 5000}) {
      std::int64_t before = 0;
      for (int i = 1; i < 200; ++i) {
        const std::int64_t x = draw_binomial(i / 200.0, n, p);
        CHECK(x >= before);
        CHECK(x <= n);
        before = x;
      }
    }
  }
  CHECK(draw_poisson(0.5, 0) == 0);
  CHECK(draw_poisson(1 - 0x1.0p-53, 29.9) < 200);
  CHECK(draw_negative_binomial(1 - 0x1.0p-53, 0.5, 29) < 10'000);
  CHECK(draw_multinomial(stream(0), 10, {0, 0}) == std::vector<std::int64_t>{0, 0});
  CHECK(draw_multinomial(stream(0), 10, {0, 3, 0}) == std::vector<std::int64_t>{0, 10, 0});
}

TEST_CASE("lengths that a law cannot have are refused, with the way out") {
  refused(family("zipf"), 5, "unknown length family 'zipf'");
  refused(family("file"), 5, "histogram");
  refused(family("poisson"), 0, "bags have 0 ids on average");
  refused(family("poisson"), std::nan(""), "bags have nan ids on average");
  refused(log_normal(0), 5, "sigma of log_normal lengths is 0");
  refused(log_normal(-1), 5, "Give above 0 up to 5");
  refused(log_normal(std::nan("")), 5, "sigma");
  refused(log_normal(40), 5, "sigma");
  refused(log_normal(1, 5), 5, "Write a value of most that is above the mean");
  refused(negative_binomial(0), 5, "size");
  refused(uniform_int(1, 9), 6, "have the mean 5 here, bags have 6 ids");
  refused(uniform_int(9, 1), 5, "low");
  refused(uniform_int(-1, 1), 5, "a bag of -1 ids");
  refused(histogram({{0, 1}}), 5, "have the mean 0 here");
  refused(histogram({{5, 0.5}, {5, 0.4}}), 5, "add up to 0.9");
  refused(histogram({{5, 0}}), 5, "add up to 0");
  refused(histogram({}), 5, "add up to 0");
  refused(histogram({{5, 1.5}, {5, -0.5}}), 5, "a share of -0.5");
  LengthSpec common = uniform_int(1, 9);
  common.common = true;
  refused(common, 5, "cannot be common");
  common = log_normal(1, 50);
  common.common = true;
  refused(common, 5, "'most' cannot be common");
}

// Mean and mean square of the largest of two and three normals are 1/sqrt(pi), 1 and 3/(2 sqrt(pi)), 1 + sqrt(3)/(2
// pi).
TEST_CASE("the largest of few normals") {
  const double root = std::sqrt(std::acos(-1.0));
  CHECK(largest_normal(1).mean == doctest::Approx(0).epsilon(1e-12));
  CHECK(largest_normal(2).mean == doctest::Approx(1 / root).epsilon(1e-12));
  CHECK(largest_normal(3).mean == doctest::Approx(1.5 / root).epsilon(1e-12));
  CHECK(largest_normal(3).mean_square == doctest::Approx(1 + std::sqrt(3.0) / (2 * root * root)).epsilon(1e-12));
}

}  // namespace shardsim::length_law_test
