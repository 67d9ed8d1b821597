#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/scenario/case_trees.h"
#include "study/sweep/axis.h"

namespace shardsim {

// Axes that move together: one alone, those of an entry of `zip`, or those that are drawn.
struct SweepDimension {
  std::vector<Axis> axes;  // each of as many values
  bool drawn = false;
  std::size_t length() const { return axes.front().values.size(); }
};

// The key `sweep` of a scenario (docs/formats/scenario.md): which points of which case are to be simulated. A pure
// value.
struct Sweep {
  std::string path;  // of the scenario, as given
  std::string title;
  std::uint64_t seed = 1;  // of the scenario
  CaseTree base;           // the case before any axis changes it
  bool keep_plan = false;
  std::vector<SweepDimension> dimensions;  // the first changes slowest
  std::uint64_t product = 0;               // points before conditions leave some out
  std::vector<std::uint32_t> points;       // which of the product are left, in order

  // Returns the coordinate of point `point` (0 to points.size() - 1) on each dimension.
  std::vector<std::size_t> coordinates(std::size_t point) const;
  // "8 x 16": the lengths of the dimensions, but of those with a single value.
  std::string shape() const;
};

// All that decides the results of a sweep but the program's version, as text: two sweeps of one text have equal
// results. The contents of the files that the case and its axes name are part of it.
std::string sweep_identity(const Sweep& sweep);
// The same and the version in 64 bits, which every finished point carries: it tells the points of one sweep from those
// of any other.
std::uint64_t sweep_digest(const std::string& identity);

}  // namespace shardsim
