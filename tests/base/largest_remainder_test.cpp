#include "base/largest_remainder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"

namespace shardsim::largest_remainder_test {

TEST_CASE("largest remainder: whole parts, the rest to the largest remainders, ties to the lower index") {
  CHECK(split_by_largest_remainder(10, {1, 1, 1, 1}) == std::vector<std::int64_t>{3, 3, 2, 2});
  CHECK(split_by_largest_remainder(10, {0.5, 0.26, 0.24}) == std::vector<std::int64_t>{5, 3, 2});
  CHECK(split_by_largest_remainder(7, {2, 1}) == std::vector<std::int64_t>{5, 2});
  CHECK(split_by_largest_remainder(7, {1, 2}) == std::vector<std::int64_t>{2, 5});
  CHECK(split_by_largest_remainder(0, {1, 2}) == std::vector<std::int64_t>{0, 0});
  CHECK(split_by_largest_remainder(3, {0, 0}) == std::vector<std::int64_t>{2, 1});
  CHECK(split_by_largest_remainder(3, {}).empty());
}

TEST_CASE("largest remainder keeps the total, whatever the weights") {
  for (std::int64_t total : {1LL, 17LL, 1'000'003LL, 123'456'789'012LL, (1LL << 52) + 1}) {
    std::vector<double> weights;
    for (int i = 1; i <= 97; ++i) weights.push_back(1.0 / (i * i * 0.37));
    const std::vector<std::int64_t> parts = split_by_largest_remainder(total, weights);
    CHECK(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) == total);
    for (const std::int64_t part : parts) CHECK(part >= 0);
  }
}

// Each unit of the rest goes to the largest remainder that has got none yet.
TEST_CASE("largest remainder: the same parts as one unit after the other, many remainders alike") {
  Rng random(11);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<double> weights(1 + random.below(40));
    for (double& weight : weights) weight = static_cast<double>(1 + random.below(6));
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const auto total = static_cast<std::int64_t>(random.below(1000));
    std::vector<std::int64_t> parts(weights.size());
    std::vector<double> remainders(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double exact = static_cast<double>(total) * (weights[i] / sum);
      parts[i] = static_cast<std::int64_t>(std::floor(exact));
      remainders[i] = exact - std::floor(exact);
    }
    for (std::int64_t left = total - std::accumulate(parts.begin(), parts.end(), std::int64_t{0}); left > 0; --left) {
      const auto most = std::ranges::max_element(remainders);
      ++parts[static_cast<std::size_t>(most - remainders.begin())];
      *most = -1;
    }
    CHECK(split_by_largest_remainder(total, weights) == parts);
  }
}

}  // namespace shardsim::largest_remainder_test
