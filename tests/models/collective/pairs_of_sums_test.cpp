#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "models/collective/rank_bytes.h"

namespace shardsim::pairs_of_sums_test {

namespace {

using Sums = std::vector<double>;

// Every sum is met, no bytes are below 0, none go from a member to itself.
void check_sums(const Sums& pairs, const Sums& sent, const Sums& received) {
  const std::size_t n = sent.size();
  const double near = 1e-11 * std::accumulate(sent.begin(), sent.end(), 0.0);
  Sums rows(n), columns(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      CHECK(pairs[i * n + j] >= 0);
      rows[i] += pairs[i * n + j];
      columns[j] += pairs[i * n + j];
    }
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(pairs[i * n + i] == 0);
    CHECK(std::fabs(rows[i] - sent[i]) <= near);
    CHECK(std::fabs(columns[i] - received[i]) <= near);
  }
}

void check_fill(const Sums& sent, const Sums& received) {
  check_sums(pairs_of_sums(sent, received), sent, received);
}

}  // namespace

TEST_CASE("even sums make even pairs, to the byte") {
  const Sums pairs = pairs_of_sums({700, 700, 700, 700}, {700, 700, 700, 700});
  for (std::size_t i = 0; i < 16; ++i) CHECK(pairs[i] == (i % 5 == 0 ? 0.0 : 700.0 / 3));
}

TEST_CASE("pairs add up to what each member sends and receives") {
  Rng rng(3);
  for (int members = 2; members <= 16; ++members) {
    Sums sent(members), received(members);
    for (int i = 0; i < members; ++i)
      for (int j = 0; j < members; ++j) {
        const double bytes = i == j || rng.below(3) == 0 ? 0 : static_cast<double>(rng.below(1'000'000));
        sent[i] += bytes;
        received[j] += bytes;
      }
    check_fill(sent, received);
  }
}

TEST_CASE("sums that leave only one fill, where fitting alone never ends") {
  check_fill({0, 10, 20, 30}, {60, 0, 0, 0});
  check_fill({60, 0, 0, 0}, {0, 10, 20, 30});
  check_fill({50, 10, 20, 30}, {60, 10, 20, 20});  // 0 is an end of every byte
  check_fill({1e15, 1, 0}, {1, 1e15, 0});
  check_fill({0, 0, 0}, {0, 0, 0});
  const Sums pairs = pairs_of_sums({50, 10, 20, 30}, {60, 10, 20, 20});
  CHECK(pairs[1 * 4 + 2] == doctest::Approx(0).epsilon(1e-9));
  CHECK(pairs[2 * 4 + 0] == doctest::Approx(20));
}

}  // namespace shardsim::pairs_of_sums_test
