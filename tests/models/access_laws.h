#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "models/access/access_distribution.h"

// Access laws with known sums, and sums over single rows to hold closed forms against.

namespace shardsim {

// The FlexShard models: knots at 0.05, 0.3, 1, 6 and 100 % of the rows, fitted to the paper's Table 5.
inline AccessSpec five_knots(double rows, const std::vector<double>& ln_p) {
  const double fractions[] = {0.0005, 0.003, 0.01, 0.06, 1};
  AccessSpec spec;
  spec.family = "piecewise_power_law";
  for (std::size_t j = 0; j < 5; ++j) spec.knots.push_back({std::round(fractions[j] * rows), ln_p[j]});
  return spec;
}

inline AccessDistribution rm1() {
  return {five_knots(3e7, {-4.932015, -6.392700, -7.966999, -9.649575, -12.819952}), 30'000'000, 0};
}

inline AccessDistribution huge() {
  AccessSpec spec;
  spec.family = "piecewise_power_law";
  spec.knots = {{15'000, -4.932015}, {90'000, -6.392700}, {300'000, -7.966999}, {1'800'000, -9.649575}, {1e10, -18}};
  return {spec, 10'000'000'000, 0};
}

inline AccessSpec law(const char* family, double s, double q = 0, double c = 0) {
  AccessSpec spec;
  spec.family = family;
  spec.s = s;
  spec.q = q;
  spec.c = c;
  return spec;
}

inline AccessSpec log_normal(double sigma) {
  AccessSpec spec;
  spec.family = "log_normal";
  spec.sigma = sigma;
  return spec;
}

inline AccessSpec listed(const std::vector<double>& p) {
  AccessSpec spec;
  spec.family = "explicit";
  spec.p = p;
  return spec;
}

// Sum over single rows, compensated (Neumaier).
template <typename Term>
double brute(std::uint64_t first, std::uint64_t end, Term term) {
  double sum = 0, lost = 0;
  for (std::uint64_t i = first; i < end; ++i) {
    const double t = term(i), next = sum + t;
    lost += std::abs(sum) >= std::abs(t) ? (sum - next) + t : (t - next) + sum;
    sum = next;
  }
  return sum + lost;
}

// prefix() against single rows at many n; `tolerance` is relative to the whole.
inline void check_prefix_sums(const AccessDistribution& rows, double tolerance) {
  double sum = 0, lost = 0;
  std::uint64_t next_check = 1;
  for (std::uint64_t i = 0; i < rows.rows(); ++i) {
    const double t = rows.probability(i), next = sum + t;
    lost += (sum - next) + t;
    sum = next;
    if (i + 1 != next_check && i + 1 != rows.rows()) continue;
    CAPTURE(i + 1);
    CHECK(std::abs(rows.prefix(i + 1) - (sum + lost)) <= tolerance * rows.total());
    next_check = 1 + next_check * 9 / 8;
  }
}

}  // namespace shardsim
