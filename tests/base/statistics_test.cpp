#include "base/statistics.h"

#include <doctest/doctest.h>

#include <cmath>

namespace shardsim::statistics_test {

using Values = std::vector<double>;

TEST_CASE("the median of an even number of samples is the mean of the two in the middle") {
  CHECK(median({}) == 0);
  CHECK(median({3}) == 3);
  CHECK(median({9, 1, 4}) == 4);
  CHECK(median({4, 1, 3, 2}) == 2.5);
}

// Among 1, 2, 3, 4 the place of 0.1 is 0.3 and that of 0.9 is 2.7.
TEST_CASE("quantiles interpolate between neighbours, or take the nearest sample") {
  CHECK(quantile({}, 0.5) == 0);
  CHECK(quantile({4, 1, 3, 2}, 0) == 1);
  CHECK(quantile({4, 1, 3, 2}, 1) == 4);
  CHECK(quantile({4, 1, 3, 2}, 0.1) == doctest::Approx(1.3));
  CHECK(quantile({4, 1, 3, 2}, 0.9) == doctest::Approx(3.7));
  CHECK(nearest_quantile({}, 0.5) == 0);
  CHECK(nearest_quantile({4, 1, 3, 2}, 0.5) == 3);
  CHECK(nearest_quantile({4, 1, 3, 2}, 0.9) == 4);
  CHECK(nearest_quantile({4, 1, 3, 2}, 0.1) == 1);
}

TEST_CASE("equal values share the mean of their places") {
  CHECK(ranks_of({30, 10, 20}) == Values{3, 1, 2});
  CHECK(ranks_of({7, 5, 7, 1}) == Values{3.5, 2, 3.5, 1});
  CHECK(ranks_of({4, 4, 4}) == Values{2, 2, 2});
  CHECK(ranks_of({}).empty());
}

TEST_CASE("the same order is 1, the reverse -1, whatever the spacing") {
  const Values rising = {1, 2, 3, 4}, same = {10, 11, 500, 501}, falling = {9, 7, 3, 1};
  CHECK(spearman(rising, same) == doctest::Approx(1));
  CHECK(kendall_tau_b(rising, same) == doctest::Approx(1));
  CHECK(spearman(rising, falling) == doctest::Approx(-1));
  CHECK(kendall_tau_b(rising, falling) == doctest::Approx(-1));
}

// Ranks (1 2 3 4 5) and (2 1 4 3 5): squared differences 4, so 1 - 6 x 4 / (5 x 24) = 0.8. 2 of 10 pairs are reversed:
// (8 - 2) / 10 = 0.6.
TEST_CASE("without ties, worked by hand") {
  const Values a = {1, 2, 3, 4, 5}, b = {2, 1, 4, 3, 5};
  CHECK(spearman(a, b) == doctest::Approx(0.8));
  CHECK(kendall_tau_b(a, b) == doctest::Approx(0.6));
}

// a = (1 2 2 3): ranks 1, 2.5, 2.5, 4; b = (1 3 2 4). Deviations from 2.5: (-1.5 0 0 1.5) and (-1.5 .5 -.5 1.5):
// products 4.5, squares 4.5 and 5: 4.5 / sqrt(22.5). Pairs: five ordered alike, one tied in a: 5 / sqrt(5 x 6).
TEST_CASE("with ties, worked by hand") {
  const Values a = {1, 2, 2, 3}, b = {1, 3, 2, 4};
  CHECK(spearman(a, b) == doctest::Approx(4.5 / std::sqrt(22.5)));
  CHECK(kendall_tau_b(a, b) == doctest::Approx(5 / std::sqrt(30.0)));
  CHECK(spearman(b, a) == doctest::Approx(spearman(a, b)));
}

TEST_CASE("a list of ties orders nothing") {
  const Values ties = {2, 2, 2}, rising = {1, 2, 3};
  CHECK(spearman(ties, rising) == 0);
  CHECK(kendall_tau_b(rising, ties) == 0);
  CHECK(spearman({1}, {1}) == 0);
}

}  // namespace shardsim::statistics_test
