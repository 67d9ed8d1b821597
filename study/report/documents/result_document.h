#pragma once

#include <string>

#include "base/document/document.h"
#include "study/result/result.h"

namespace shardsim {

// The run as a person reads it: cases (fastest first within each workload), collectives, predicted beside published.
Document result_document(const StudyResult& study, Medium medium);

// The same on a terminal of `width` columns.
std::string result_table(const StudyResult& study, int width, bool colour);

// The same as one self-contained HTML file: charts as Vega specifications (plots/*.vg.json) filled with the run's data,
// each chart also as a table. Errors: as page_html().
std::string report_html(const StudyResult& study);

}  // namespace shardsim
