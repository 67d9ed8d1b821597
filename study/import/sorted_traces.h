#pragma once

#include <vector>

#include "study/import/trace_files.h"

namespace shardsim {

// The traces that are asked of by their batch, rising: of each the rank that has most to do besides exchanges, of which
// `setting` gets a note. Errors (Failure::input): traces of several GPUs or worlds, of two models, two of one rank.
std::vector<TracedBatch> sorted_traces(const TraceQuestion& asked, ImportSetting& setting);

// The numbers that the tables of its lookups hold; 0: no shapes say it.
double traced_values(const TracedModel& traced);

}  // namespace shardsim
