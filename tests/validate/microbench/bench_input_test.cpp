#include "validate/microbench/bench_input.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "validate/microbench/microbench.h"

namespace shardsim::bench_input_test {
namespace {

BenchPoint small(double zipf) {
  BenchPoint point;
  point.tables = {{100, 8, 3}, {50, 4, 2}};
  point.batch = 40;
  point.law.zipf = zipf;
  return point;
}

}  // namespace

TEST_CASE("ranks drawn by Zipf's law come as often as the law says") {
  Rng rng(3);
  constexpr int kDraws = 200'000;
  for (const double exponent : {0.7, 1.0, 1.05, 1.2}) {
    const ZipfDraw zipf(1000, exponent);
    std::vector<int> counts(1000);
    for (int i = 0; i < kDraws; ++i) ++counts[zipf.draw(rng)];
    double sum = 0;
    for (int rank = 1; rank <= 1000; ++rank) sum += std::pow(rank, -exponent);
    for (const int rank : {1, 2, 5, 40}) {
      const double expected = kDraws * std::pow(rank, -exponent) / sum;
      CHECK(std::abs(counts[rank - 1] - expected) < 5 * std::sqrt(expected));
    }
  }
}

TEST_CASE("a batch fits its tables, and what is said of it is so") {
  for (const double zipf : {0.0, 1.2}) {
    const BenchInput input = draw_input(small(zipf), 9);
    REQUIRE(input.offsets.size() == 81);
    CHECK(input.offsets.back() == 200);
    CHECK(input.offsets[40] == 120);
    const std::set<std::int64_t> first(input.indices.begin(), input.indices.begin() + 120);
    CHECK(*first.rbegin() < 100);
    CHECK(static_cast<std::int64_t>(first.size()) == input.distinct[0]);
    CHECK(*std::max_element(input.indices.begin() + 120, input.indices.end()) < 50);
    CHECK(std::accumulate(input.access_histogram.begin(), input.access_histogram.end(), 0.0) == doctest::Approx(1));
    CHECK(draw_input(small(zipf), 9).indices == input.indices);
    CHECK(draw_input(small(zipf), 10).indices != input.indices);
  }
}

TEST_CASE("rows are counted by how often they are met: once, twice, up to four times") {
  BenchPoint point;
  point.tables = {{1, 4, 3}};
  point.batch = 1;
  const BenchInput input = draw_input(point, 1);  // the one row, three times
  CHECK(input.access_histogram[2] == 1);
  CHECK(input.distinct == std::vector<std::int64_t>{1});
}

TEST_CASE("a sweep holds no point twice and none that does not fit") {
  constexpr std::int64_t kMemory = std::int64_t{2} << 30;
  const std::vector<BenchPoint> points = full_sweep(kMemory, 1, {30, 10});
  CHECK(points == full_sweep(kMemory, 1, {30, 10}));
  CHECK(points.size() > 100);
  int twice = 0, large = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    large += points[i].need_bytes() > kMemory ? 1 : 0;
    for (std::size_t j = 0; j < i; ++j) twice += points[i] == points[j] ? 1 : 0;
  }
  CHECK(twice == 0);
  CHECK(large == 0);
}

TEST_CASE("median and quantiles interpolate between neighbours") {
  const SampleStatistics s = sample_statistics({4, 1, 3, 2});
  CHECK(s.median == 2.5);
  CHECK(s.min == 1);
  CHECK(s.p10 == doctest::Approx(1.3));
  CHECK(s.p90 == doctest::Approx(3.7));
  CHECK(s.spread() == doctest::Approx(0.96));
}

}  // namespace shardsim::bench_input_test
