#pragma once

#include <string>

#include "base/document/document.h"
#include "program/timeline/kineto/traced_step.h"

namespace shardsim {

// Where the median step of a trace goes, and how long it would be without each of its parts: as if that took no time
// and all else stayed where it is.
Document traced_step_document(const TracedModel& traced);

// The same as JSON, of schema shardsim.why_trace/1; times in ms.
std::string traced_step_json(const TracedModel& traced);

}  // namespace shardsim
