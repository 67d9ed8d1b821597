#include "models/access/normal_quantile.h"

#include <doctest/doctest.h>

#include <boost/math/distributions/normal.hpp>

namespace shardsim::normal_quantile_test {

// The validator is built on compute nodes that have a compiler and no Boost, so the normal law is our own there, and
// everywhere, that both give the same digits. Boost.Math says here that it is right.
TEST_CASE("the normal law agrees with Boost.Math to rounding") {
  const boost::math::normal normal;
  for (const double share : {1e-300, 1e-100, 1e-16, 1e-9, 1e-4, 0.01, 0.1, 0.25, 0.4, 0.499999, 0.5}) {
    CAPTURE(share);
    CHECK(upper_quantile(share) == doctest::Approx(quantile(complement(normal, share))).epsilon(1e-14).scale(0.1));
    CHECK(normal_quantile(share) == doctest::Approx(quantile(normal, share)).epsilon(1e-14).scale(0.1));
  }
  for (const double share : {0.500001, 0.6, 0.9, 0.999, 1 - 1e-9}) {
    CAPTURE(share);
    CHECK(normal_quantile(share) == doctest::Approx(quantile(normal, share)).epsilon(1e-9));
  }
  for (const double z : {-37.0, -8.0, -1.0, -1e-9, 0.0, 0.3, 1.0, 5.0, 20.0, 37.0}) {
    CAPTURE(z);
    CHECK(upper_tail(z) == doctest::Approx(cdf(complement(normal, z))).epsilon(1e-13).scale(0));
    CHECK(normal_density(z) == doctest::Approx(pdf(normal, z)).epsilon(1e-13).scale(0));
  }
}

}  // namespace shardsim::normal_quantile_test
