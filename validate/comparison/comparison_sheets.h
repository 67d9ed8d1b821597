#pragma once

#include <string>

#include "sim/report/sheet.h"
#include "validate/comparison/comparison_report.h"

namespace shardsim {

// Iteration, exposed communication, classes and operations of one case; with a tolerance a last column says what it
// bounds and whether it holds.
Sheet operations_sheet(const TimelineComparison& comparison, const std::optional<double>& tolerance_pct);

// Compute, collectives, exposed time and device memory of each rank; the first `most` of them.
Sheet ranks_sheet(const TimelineComparison& comparison, std::size_t most);

// In a sentence: the iteration's error, the three worst operations, memory.
std::string comparison_summary(const TimelineComparison& comparison);

// "8 ranks, 20 iterations observed on 2 x A100 (n0, n1), nccl, NCCL 2.18.3".
std::string observed_on(const TimelineComparison& comparison);

// What stands above the tables, for who sees them first.
std::string comparison_legend();

// All of it for a terminal.
std::string comparison_text(const ComparisonReport& report, int width, bool colour);

}  // namespace shardsim
