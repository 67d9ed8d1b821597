#pragma once

#include <string>
#include <vector>

#include "sim/report/chart.h"
#include "validate/comparison/comparison_report.h"

namespace shardsim {

// Charts of one case; ids begin with `id`. Columns of the data sets:
// compared_timelines: "spans" (lane, row, stream, op, class, start_ms, end_ms, moved_mb), "lanes" (lane, row, stream):
// rank 0
//   and the rank that is observed to be busiest, each predicted and observed on one time axis.
// compared_operations and operation_errors: "points" (operation, class, predicted_ms, observed_ms, least_ms, most_ms,
//   error_pct, error_least_pct, error_most_pct, side: operation or iteration).
std::vector<Chart> comparison_charts(const ComparedCase& item, const std::string& id);

// One self-contained page with the charts and tables of every case.
std::string comparison_html(const ComparisonReport& report);

}  // namespace shardsim
