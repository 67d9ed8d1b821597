#pragma once

#include <string>

#include "study/result/result.h"

namespace shardsim {

// % of the iteration in which the rank that waits longest waits for its host. The case has a host.
double waiting_percent(const CaseResult& item);
// True where the host of an eager software holds up so much of an iteration that another software is worth advice.
bool waits_for_eager_host(const CaseResult& item);

// Names software and options that would shorten the fastest iteration by a tenth and more, which no other machine and
// no other plan shows: `index_dedup`, and a CUDA graph. For a first screen; "" where there is nothing.
std::string levers_text(const StudyResult& study);

}  // namespace shardsim
