#pragma once

#include <string>
#include <vector>

#include "program/timeline/kineto/traced_step.h"
#include "study/import/model_files.h"

namespace shardsim {

// A model of which a trace is known, and its tables or nothing.
struct TraceImport {
  ImportedModel model;    // tables as given, else one that stands for those that nobody named
  ImportSetting setting;  // with the dense part, the cluster where the trace's device is a known one, and notes
};

// The scenario's parts that a trace says: a step whose dense part, host, and (where tables are not given) lookups,
// updates and exposed exchanges are as measured. `setting` has what the command line says; `tables` nothing where no
// file of them was given. Errors (Failure::input): a device that no shipped cluster has, where no cluster is named;
// tables for a trace without lookups.
TraceImport trace_import(const TracedModel& traced, const ImportedModel* tables, ImportSetting setting);

}  // namespace shardsim
