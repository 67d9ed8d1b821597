#pragma once

#include <functional>
#include <vector>

namespace shardsim {

// The function to be minimised: from parameters to residuals, whose number is always the same.
using Residuals = std::function<std::vector<double>(const std::vector<double>& parameters)>;

// Half of the sum of squares, which least_squares() minimises.
double half_square_sum(const std::vector<double>& residuals);

// A residual whose square grows as a line far beyond `width` and as a square near zero: a few values far off do not
// decide.
double damped(double residual, double width = 1);

// The parameters near `start` with the least sum of squared residuals, by damped Gauss-Newton steps with numeric
// derivatives (Levenberg and Marquardt): the damping grows until a step helps. The same bits on every run. If no step
// improves the sum, the result is `start`. Eigen solves the equations of a step; docs/architecture.md says why its own
// LevenbergMarquardt does not choose the steps.
std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start);

}  // namespace shardsim
