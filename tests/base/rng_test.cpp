#include "base/rng.h"

#include <doctest/doctest.h>

namespace shardsim::rng_test {

// First outputs of splitmix64 seeded with 0, as printed in the tests of several public implementations of Vigna's code.
TEST_CASE("the generator is splitmix64") {
  Rng rng(0);
  CHECK(rng.next() == 0xe220a8397b1dcdafULL);
  CHECK(rng.next() == 0x6e789e6aa1b965f4ULL);
  CHECK(rng.next() == 0x06c45d188009454fULL);
}

TEST_CASE("uniform stays in [0, 1) and below(n) under n") {
  Rng rng(7);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double x = rng.uniform();
    REQUIRE(x >= 0);
    REQUIRE(x < 1);
    REQUIRE(rng.below(3) < 3);
    sum += x;
  }
  CHECK(sum / 10'000 == doctest::Approx(0.5).epsilon(0.02));
}

}  // namespace shardsim::rng_test
