#pragma once

#include <string>
#include <vector>

#include "base/document/document.h"
#include "study/report/documents/sweep_order.h"
#include "study/sweep/sweep_result.h"

namespace shardsim {

// "rate 500 Gbit/s, batch_per_gpu 4096".
std::string named_values(const SweepResult& result, std::size_t point);

// The document of a sweep: how many points, the first of them, what failed; on a page the heat map of two axes, the
// best per cell, the Pareto front and how it scales besides.
Document sweep_document(const SweepResult& result, Medium medium, SweepOrder order = SweepOrder::samples);

// As report.html.
std::string sweep_html(const SweepResult& result, SweepOrder order = SweepOrder::samples);

}  // namespace shardsim
