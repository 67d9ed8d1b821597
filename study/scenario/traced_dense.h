#pragma once

#include <string>

#include "base/tree/tree.h"
#include "program/timeline/kineto/traced_step.h"

namespace shardsim {

// The dense part of a workload as a trace has it: YAML of `dense: {measured: ...}` (docs/formats/workload.md), with the
// host's time, lookups and updates of the median step, and `with_exchanges` also with what of the exchanges nothing
// hides.
std::string traced_dense_text(const TracedModel& traced, bool with_exchanges);

// The workload with its `dense: {trace: FILE}` replaced by what the trace says; as it is where it names none. Exchanges
// are left out in a world of several ranks, where they are simulated. Errors: as read_kineto_trace() and
// traced_model(); keys beside `trace` in the dense part (Failure::input, at the key).
Tree with_traced_dense(Tree workload);

}  // namespace shardsim
