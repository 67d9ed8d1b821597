#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "study/import/imported_model.h"
#include "study/import/model_files.h"
#include "study/import/trace_files.h"

namespace shardsim {

inline constexpr std::int64_t kMostImportedNodes = 100'000;

// A model to be imported, as a command line or a script says it. A field that is absent follows from the files, or is
// assumed.
struct ImportRequest {
  // Tables as a CSV, TorchRec's configurations or plan; or traces of training steps, and folders of them.
  std::vector<std::string> files;
  bool of_traces = false;                   // the first of them has to be a trace
  std::optional<std::string> tables, plan;  // further files: of a model that is traced; of one without a plan
  std::optional<TraceQuestion::Shapes> tables_of_trace;
  std::vector<std::int64_t> traced_batches;  // samples per GPU of each trace
  std::optional<DenseScale> scale_dense;
  std::optional<std::string> cluster, planner;
  std::optional<std::int64_t> nodes, batch;               // batch: samples per GPU
  std::string made_by;                                    // for the first line of each file
  std::string folder;                                     // in which the scenario is to lie
  std::function<Place(const std::string& option)> place;  // by which a fault of one of the options is told
};

struct Imported {
  ImportedModel model;
  ImportSetting setting;
};

// Errors (Failure::input): those of the readers; options that contradict each other or have nothing to do here.
Imported imported(const ImportRequest& request);

}  // namespace shardsim
