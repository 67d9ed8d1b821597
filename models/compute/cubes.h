#pragma once

#include <algorithm>
#include <cmath>

namespace shardsim {

// The products that stand for floating-point operations whose shapes nobody names: as many cubes as make them up, and
// one product with fewer rows. Who executes an operation and who predicts it have to take the same ones.
struct Cubes {
  double side = 0, count = 0;
  double rows_left = 0;  // of the last product; 0: there is none
};

// Sides are multiples of kCubeStep, which kernels prefer, between the least and the most that a device takes.
inline constexpr double kCubeStep = 64;

inline Cubes cubes_of(double flops, double least_side, double most_side) {
  const double side = std::clamp(std::floor(std::cbrt(flops / 2) / kCubeStep) * kCubeStep, least_side, most_side);
  const double rows = std::round(flops / (2 * side * side)), count = std::floor(rows / side);
  return {side, count, rows - count * side};
}

}  // namespace shardsim
