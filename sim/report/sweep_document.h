#pragma once

#include <string>

#include "base/document/document.h"
#include "sim/sweep/sweep_result.h"

namespace shardsim {

// What people get to read of a sweep: how many points, the fastest of them, what failed; on a page the heat map of two
// axes, the best per cell, the Pareto front and how it scales besides.
Document sweep_document(const SweepResult& result, Medium medium);

// As text for a terminal, and as report.html.
std::string sweep_table(const SweepResult& result, int width, bool colour);
std::string sweep_html(const SweepResult& result);

}  // namespace shardsim
