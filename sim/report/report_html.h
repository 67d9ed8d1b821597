#pragma once

#include <string>

#include "sim/study/result.h"

namespace shardsim {

// One self-contained HTML file: charts as Vega specifications (plots/*.vg.json) filled with the run's data, each chart
// also as a table. Errors: Failure::run when a chart names a data set that the run does not have, or the reverse.
std::string report_html(const StudyResult& study);

}  // namespace shardsim
