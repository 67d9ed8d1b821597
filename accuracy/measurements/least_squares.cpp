#include "accuracy/measurements/least_squares.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <iterator>

namespace shardsim {
namespace {

constexpr int kMostSteps = 60;
constexpr double kStep = 1e-4;          // of the numeric derivatives
constexpr double kFirstDamping = 1e-2;  // times the diagonal
constexpr double kMostDamping = 1e8;
constexpr double kDampingFactor = 4;
constexpr double kEnough = 1e-9;  // relative gain of a step that is not worth another one

Eigen::Map<const Eigen::VectorXd> vector_of(const std::vector<double>& values) {
  return {values.data(), std::ssize(values)};
}

// Returns the slopes of the residuals, a column for each parameter.
Eigen::MatrixXd slopes_at(const Residuals& residuals, const std::vector<double>& at) {
  Eigen::MatrixXd slopes;
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::vector<double> up = at, down = at;
    up[i] += kStep;
    down[i] -= kStep;
    const std::vector<double> above = residuals(up), below = residuals(down);
    if (i == 0) slopes.resize(std::ssize(above), std::ssize(at));
    slopes.col(static_cast<Eigen::Index>(i)) = (vector_of(above) - vector_of(below)) / (2 * kStep);
  }
  return slopes;
}

// Where a damped step from `at` leads; empty when the equations have no solution.
std::vector<double> stepped(const Eigen::MatrixXd& slopes, const std::vector<double>& off, std::vector<double> at,
                            double damping) {
  Eigen::MatrixXd normal = slopes.transpose() * slopes;
  normal.diagonal() *= 1 + damping;
  const Eigen::LLT<Eigen::MatrixXd> factors(normal);
  if (factors.info() != Eigen::Success) return {};
  const Eigen::VectorXd step = factors.solve(slopes.transpose() * vector_of(off));
  for (std::size_t i = 0; i < at.size(); ++i) at[i] -= step[static_cast<Eigen::Index>(i)];
  return at;
}

}  // namespace

double half_square_sum(const std::vector<double>& residuals) {
  return vector_of(residuals).squaredNorm() / 2;
}

double damped(double residual, double width) {
  const double z = residual / width;
  return std::copysign(width * std::sqrt(2 * (std::sqrt(1 + z * z) - 1)), residual);
}

std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start) {
  double damping = kFirstDamping;
  for (int step = 0; step < kMostSteps && !start.empty(); ++step) {
    const std::vector<double> off = residuals(start);
    const Eigen::MatrixXd slopes = slopes_at(residuals, start);
    const double before = half_square_sum(off);
    double after = before;
    std::vector<double> next;
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
