#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/timeline/kineto/traced_step.h"
#include "study/import/model_files.h"
#include "study/scenario/traced_dense.h"

namespace shardsim {

// A model of which traces are known, and its tables or nothing.
struct TraceImport {
  ImportedModel model;    // tables as given or as the trace tells, else one that stands for those that nobody named
  ImportSetting setting;  // with the dense part, the cluster where the trace's device is a known one, and notes
};

// Holds what is asked of the traces.
struct TraceQuestion {
  std::vector<TracedModel> traces;        // of one batch or of several; of each one rank or several
  std::vector<std::int64_t> batches;      // of the traces as stated, in their order; none: as the shapes say
  std::optional<std::int64_t> batch;      // that the scenario is to have
  const ImportedModel* tables = nullptr;  // of the whole model, as given
  std::string tables_file;
  enum class Shapes { none, rank, world } tables_of_trace = Shapes::none;  // the tables that the shapes tell
  DenseScale scale = DenseScale::none;
  bool planner_stated = false;
};

// The scenario's parts that traces say. Without tables everything is as measured: dense part, host, lookups, updates
// and exposed exchanges, of a rank that stands alone. With tables, lookups, updates and (in a world of several ranks)
// exchanges are simulated, and the rest is as measured. Of several ranks that is the one that has most to do besides
// exchanges. `setting` has what the command line says. Errors (Failure::input): traces of several GPUs or worlds, two
// of one rank, a batch that was not traced, where nothing says how it follows; a device that no shipped cluster has,
// where no cluster is named; tables for a trace without lookups, or that do not fit its shapes.
TraceImport trace_import(const TraceQuestion& asked, ImportSetting setting);

}  // namespace shardsim
