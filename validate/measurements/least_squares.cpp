#include "validate/measurements/least_squares.h"

#include <algorithm>
#include <cmath>

namespace shardsim {
namespace {

constexpr int kMostSteps = 60;
constexpr double kStep = 1e-4;          // of the numeric derivatives
constexpr double kFirstDamping = 1e-2;  // times the diagonal
constexpr double kMostDamping = 1e8;
constexpr double kDampingFactor = 4;
constexpr double kEnough = 1e-9;  // relative gain of a step that is not worth another one

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

// Residuals and their derivatives: slopes[parameter][residual].
struct Linear {
  Vector residuals;
  Matrix slopes;
};

Linear linear_at(const Residuals& residuals, const Vector& at) {
  Linear linear{residuals(at), {}};
  for (std::size_t i = 0; i < at.size(); ++i) {
    Vector up = at, down = at;
    up[i] += kStep;
    down[i] -= kStep;
    const Vector above = residuals(up), below = residuals(down);
    Vector slope(above.size());
    for (std::size_t r = 0; r < slope.size(); ++r) slope[r] = (above[r] - below[r]) / (2 * kStep);
    linear.slopes.push_back(std::move(slope));
  }
  return linear;
}

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Solves matrix x = right for a symmetric positive definite matrix (Cholesky). Empty when it is not.
Vector solved(Matrix matrix, Vector right) {
  const std::size_t n = right.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i][k] * matrix[j][k];
      if (i == j && !(sum > 0)) return {};
      matrix[i][j] = i == j ? std::sqrt(sum) : sum / matrix[j][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= matrix[k][i] * right[k];
    right[i] /= matrix[i][i];
  }
  return right;
}

Vector step_from(const Linear& linear, double damping) {
  const std::size_t n = linear.slopes.size();
  Matrix normal(n, Vector(n));
  Vector right(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) normal[i][j] = dot(linear.slopes[i], linear.slopes[j]);
    normal[i][i] *= 1 + damping;
    right[i] = -dot(linear.slopes[i], linear.residuals);
  }
  return solved(std::move(normal), std::move(right));
}

// A step that helps, or nothing. Leaves in `damping` what helped.
Vector better(const Residuals& residuals, const Linear& linear, const Vector& at, double& damping) {
  const double before = half_square_sum(linear.residuals);
  for (; damping < kMostDamping; damping *= kDampingFactor) {
    Vector next = step_from(linear, damping);
    if (next.empty()) continue;
    for (std::size_t i = 0; i < at.size(); ++i) next[i] += at[i];
    if (half_square_sum(residuals(next)) < before) return next;
  }
  return {};
}

}  // namespace

double half_square_sum(const std::vector<double>& residuals) {
  return dot(residuals, residuals) / 2;
}

std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start) {
  if (start.empty()) return start;
  double damping = kFirstDamping;
  for (int step = 0; step < kMostSteps; ++step) {
    const Linear linear = linear_at(residuals, start);
    Vector next = better(residuals, linear, start, damping);
    if (next.empty()) return start;
    start = std::move(next);
    damping /= kDampingFactor * kDampingFactor;
    const double before = half_square_sum(linear.residuals);
    if (half_square_sum(residuals(start)) > (1 - kEnough) * before) return start;
  }
  return start;
}

}  // namespace shardsim
