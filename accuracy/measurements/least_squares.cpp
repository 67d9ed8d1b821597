#include "accuracy/measurements/least_squares.h"

#include <numeric>

namespace shardsim {
namespace {

constexpr int kMostSteps = 60;
constexpr double kStep = 1e-4;          // of the numeric derivatives
constexpr double kFirstDamping = 1e-2;  // times the diagonal
constexpr double kMostDamping = 1e8;
constexpr double kDampingFactor = 4;
constexpr double kEnough = 1e-9;  // relative gain of a step that is not worth another one

using Values = std::vector<double>;
using Matrix = std::vector<Values>;

double dot(const Values& a, const Values& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Of the residuals, by parameter.
Matrix slopes_at(const Residuals& residuals, const Values& at) {
  Matrix slopes;
  for (std::size_t i = 0; i < at.size(); ++i) {
    Values up = at, down = at;
    up[i] += kStep;
    down[i] -= kStep;
    Values& slope = slopes.emplace_back(residuals(up));
    const Values below = residuals(down);
    for (std::size_t row = 0; row < slope.size(); ++row) slope[row] = (slope[row] - below[row]) / (2 * kStep);
  }
  return slopes;
}

// Where a damped step from `at` leads, by elimination; empty when the equations have no solution.
Values stepped(const Matrix& slopes, const Values& off, Values at, double damping) {
  const std::size_t n = at.size();
  Matrix normal(n, Values(n));
  Values step(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) normal[i][j] = dot(slopes[i], slopes[j]);
    normal[i][i] *= 1 + damping;
    step[i] = -dot(slopes[i], off);
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (!(normal[i][i] > 0)) return {};
    for (std::size_t j = i + 1; j < n; ++j) {
      const double part = normal[j][i] / normal[i][i];
      for (std::size_t k = i; k < n; ++k) normal[j][k] -= part * normal[i][k];
      step[j] -= part * step[i];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) step[i] -= normal[i][k] * step[k];
    step[i] /= normal[i][i];
    at[i] += step[i];
  }
  return at;
}

}  // namespace

double half_square_sum(const std::vector<double>& residuals) {
  return dot(residuals, residuals) / 2;
}

std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start) {
  double damping = kFirstDamping;
  for (int step = 0; step < kMostSteps && !start.empty(); ++step) {
    const Values off = residuals(start);
    const Matrix slopes = slopes_at(residuals, start);
    const double before = half_square_sum(off);
    double after = before;
    Values next;
    // Leaves in `damping` what helped.
    while (damping < kMostDamping) {
      next = stepped(slopes, off, start, damping);
      if (!next.empty()) after = half_square_sum(residuals(next));
      if (after < before) break;
      damping *= kDampingFactor;
    }
    if (!(after < before)) return start;
    start = std::move(next);
    damping /= kDampingFactor * kDampingFactor;
    if (after > (1 - kEnough) * before) return start;
  }
  return start;
}

}  // namespace shardsim
