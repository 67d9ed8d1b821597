#pragma once

#include <map>
#include <vector>

#include "sim/sweep/kept_plan.h"
#include "sim/sweep/point_cases.h"
#include "sim/sweep/point_result.h"

namespace shardsim {

// Simulates the points of a sweep, one after the other in one process: each to the same bits as `shardsim run` of its
// case. What goes wrong with a point is its result and no error.
class PointSimulator {
 public:
  explicit PointSimulator(const Sweep& sweep) : sweep_(sweep), cases_(sweep) {}  // which outlives it

  PointResult simulate(std::size_t point);

 private:
  struct Kept {
    KeptPlan plan;
    int world_size = 0;
  };
  PointResult simulated(std::size_t point);
  PointFigures figures(const Case& item, std::size_t point);
  Kept& kept_for(std::size_t point);

  const Sweep& sweep_;
  PointCases cases_;
  std::map<std::vector<std::size_t>, Kept> kept_;  // by PointCases::kept_key
};

}  // namespace shardsim
