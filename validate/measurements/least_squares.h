#pragma once

#include <functional>
#include <vector>

namespace shardsim {

// What is to become small: a function from parameters to residuals, always the same number of them.
using Residuals = std::function<std::vector<double>(const std::vector<double>& parameters)>;

// Half the sum of squares, what least_squares() makes small.
double half_square_sum(const std::vector<double>& residuals);

// The parameters near `start` with the least sum of squared residuals, by damped Gauss-Newton steps with numeric
// derivatives (Levenberg and Marquardt): the damping grows until a step helps. The same bits on every run. Where no
// step helps the start comes back.
std::vector<double> least_squares(const Residuals& residuals, std::vector<double> start);

}  // namespace shardsim
