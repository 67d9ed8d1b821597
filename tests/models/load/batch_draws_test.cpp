#include "models/load/batch_draws.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

namespace shardsim::batch_draws_test {

namespace {

LengthSpec log_normal(double sigma) {
  LengthSpec spec;
  spec.family = "log_normal";
  spec.sigma = sigma;
  return spec;
}

}  // namespace

// Section 6, law 8.
TEST_CASE("what a source sends is its total, and the mean of 2,000 iterations the expected matrix") {
  constexpr int kRanks = 4, kIterations = 2000;
  const std::vector<double> shares{0.6, 0.3, 0, 0.1};
  const BatchDraws draws("t", 11, kRanks, log_normal(1), {{20, 512}}, 20 * 512);
  std::vector<double> sums(kRanks * shares.size(), 0), squares(sums.size(), 0);
  for (int i = 0; i < kIterations; ++i) {
    for (int s = 0; s < kRanks; ++s) {
      const std::int64_t ids = draws.ids(0, i, s);
      const auto cells = draws.cells(0, i, s, ids, shares);
      CHECK(std::accumulate(cells.begin(), cells.end(), std::int64_t{0}) == ids);
      for (std::size_t j = 0; j < cells.size(); ++j) {
        const std::size_t at = static_cast<std::size_t>(s) * shares.size() + j;
        sums[at] += static_cast<double>(cells[j]);
        squares[at] += static_cast<double>(cells[j]) * static_cast<double>(cells[j]);
      }
    }
  }
  for (std::size_t at = 0; at < sums.size(); ++at) {
    const double mean = sums[at] / kIterations;
    const double error = std::sqrt((squares[at] / kIterations - mean * mean) / kIterations);
    CHECK(std::abs(mean - 20 * 512 * shares[at % shares.size()]) <= 4 * error);
  }
}

TEST_CASE("fixed lengths keep the expected ids, split over the features, and draw nothing") {
  const BatchDraws draws("t", 1, 8, {}, {{2, 100}, {1, 100}, {0.4, 100}}, 340);
  for (int i = 0; i < 5; ++i) {
    CHECK(draws.ids(0, i, 3) == 200);
    CHECK(draws.ids(1, i, 3) == 100);
    CHECK(draws.ids(2, i, 3) == 40);
  }
}

TEST_CASE("features, ranks and iterations differ; other tables change nothing") {
  const BatchDraws draws("t", 1, 8, log_normal(1), {{20, 300}, {20, 300}}, 12'000);
  CHECK(draws.ids(0, 0, 0) != draws.ids(1, 0, 0));
  CHECK(draws.ids(0, 0, 0) != draws.ids(0, 1, 0));
  CHECK(draws.ids(0, 0, 0) != draws.ids(0, 0, 1));
  CHECK(draws.ids(0, 0, 0) == BatchDraws("t", 1, 8, log_normal(1), {{20, 300}}, 6000).ids(0, 0, 0));
}

TEST_CASE("factors of samples make tables long together, and factors of 1 leave a whole mean as it is") {
  LengthSpec spec;
  spec.common = true;
  const BatchDraws draws("t", 1, 8, spec, {{20, 512}}, 20 * 512);
  const FactorSums one{512, 512, 512, 512};
  CHECK(draws.ids(0, 0, 0, &one) == 20 * 512);
  CHECK(draws.ids(0, 0, 0) == 20 * 512);
  for (int rank = 0; rank < 8; ++rank) {
    const FactorSums factors = factor_sums({0.8}, 512, 1, {0, rank, 8});
    CHECK(factors.first / 512 == doctest::Approx(1).epsilon(0.2));
    CHECK(static_cast<double>(draws.ids(0, 0, rank, &factors)) == doctest::Approx(20 * factors.first).epsilon(0.01));
  }
}

TEST_CASE("drawn batches of more ranks than a dense matrix serves are refused") {
  CHECK_THROWS_AS(BatchDraws("t", 1, 1025, {}, {{1, 1}}, 1, {"s.yaml", 1, 1}), Error);
}

TEST_CASE("different rows of a drawn batch rise with its lookups, as those of expected batches do") {
  CHECK(drawn_distinct(80, 86, 100, 100) == doctest::Approx(80));
  CHECK(drawn_distinct(80, 86, 100, 110) == doctest::Approx(86));
  CHECK(drawn_distinct(80, 86, 100, 0) == 0);
  CHECK(drawn_distinct(80, 86, 100, 1) <= 1);
}

}  // namespace shardsim::batch_draws_test
