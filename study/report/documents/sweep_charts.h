#pragma once

#include <vector>

#include "base/document/document.h"
#include "study/sweep/sweep_result.h"

namespace shardsim {

// The two dimensions that are drawn: the longest ones of at most 60 values that nobody drew at random, in the order of
// the file; fewer where there are fewer.
std::vector<std::size_t> drawn_dimensions(const Sweep& sweep);

// The point of most samples per second for each pair of their values. Columns: x_axis, x, x_order, y_axis, y, y_order
// (y: "" with one axis), samples_per_s (0 without a result), iteration_ms, limited_by, best (values of the other axes;
// "" where there are none), within (the interval of iteration_ms; "" without one), sure (how sure it is that the best
// is the best, in words; "" where nothing else is there).
DataSet sweep_cells(const SweepResult& result);

// Points with a result: those that nothing beats in time, memory and cost, and of the others at most 2,000, evenly
// taken. Columns: gpus, iteration_ms, low_ms and high_ms (of its interval), samples_per_s, memory_gib, cost (of a
// million samples), scaling_pct, host_gib (of rows in the host memory of the fullest node), fits (yes, over),
// limited_by, and the axes by their paths. "-" where there is no such number.
DataSet sweep_points(const SweepResult& result);

// Scaling efficiency of the twelve groups of most samples per second. Columns: group (values of the axes that do not
// change the world), gpus, efficiency_pct, samples_per_s.
DataSet sweep_scaling(const SweepResult& result);

// The charts that there are data for.
std::vector<Chart> sweep_charts(const SweepResult& result);

// The values of a point on these dimensions, "a, b".
std::string point_text(const SweepResult& result, std::size_t point, const std::vector<std::size_t>& dimensions);

}  // namespace shardsim
