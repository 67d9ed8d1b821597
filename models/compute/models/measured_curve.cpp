#include "models/compute/models/measured_curve.h"

#include <algorithm>
#include <cmath>

namespace shardsim {

double MeasuredCurve::at(double a, double b) const {
  double most_a = 0, most_b = 0;
  for (const Point& point : points_) {
    most_a = std::max(most_a, point.a);
    most_b = std::max(most_b, point.b);
  }
  const double beyond = std::max({1.0, a / most_a, b / most_b});
  return beyond * inside(a / beyond, b / beyond);
}

double MeasuredCurve::inside(double a, double b) const {
  double upper = HUGE_VAL, lower = 0;
  for (const Point& point : points_) {
    upper = std::min(upper, point.seconds * std::max({1.0, a / point.a, b / point.b}));
    lower = std::max(lower, point.seconds * std::min({1.0, a / point.a, b / point.b}));
  }
  // Below every size the lower bound sinks to nothing, yet a call takes its start: the least measured time stays.
  double least = HUGE_VAL;
  for (const Point& point : points_) least = std::min(least, point.seconds);
  return std::max(least, std::sqrt(upper * lower));
}

}  // namespace shardsim
