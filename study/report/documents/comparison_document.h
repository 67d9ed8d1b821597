#pragma once

#include <string>
#include <vector>

#include "base/document/document.h"
#include "validate/comparison/comparison_report.h"

namespace shardsim {

// Charts of one case; ids begin with `id`. Columns of the data sets:
// compared_timelines: "spans" (lane, row, stream, op, class, start_ms, end_ms, moved_mb), "lanes" (lane, row, stream).
//   Rank 0, and the busiest rank of the second side, each with both sides on one time axis.
// compared_operations and operation_errors: "sides" (first, second: what the sides are called; figure: the title of an
// axis of errors or differences), "points" (operation,
//   class, FIRST_ms and SECOND_ms by these names, least_ms, most_ms, error_pct, error_least_pct, error_most_pct, side:
//   operation or iteration).
std::vector<Chart> comparison_charts(const ComparedCase& item, const std::string& id);

// Iteration, exposed communication, classes and operations of one case; with a tolerance a last column says what it
// bounds and whether it holds.
Section operations_section(const ComparedCase& item, const std::optional<double>& tolerance, Medium medium);

// The text above the tables, then a section per case: its tables, its summary, its notes.
Document comparison_document(const ComparisonReport& report, Medium medium);

}  // namespace shardsim
