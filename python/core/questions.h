#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/document/document.h"
#include "models/workload/workload.h"
#include "python/core/request.h"
#include "study/confidence/coverage.h"
#include "study/import/import_request.h"
#include "study/sweep/checked_scenario.h"

namespace shardsim::python {

// The answer to a question in the forms that its command has.
struct Answer {
  std::string json;
  std::vector<std::string> notes;
  Document terminal, page;
};

// `shardsim why`. Errors: those of explained_case().
Answer why_answer(const Request& request, const std::string& case_name, bool path_only);

// `shardsim drift`. Errors: those of drift_options() and drift_study().
Answer drift_answer(const Request& request, const std::string& case_name, int jobs);

// `shardsim check` of a scenario.
Checked check_answer(const Request& request);

// `shardsim confidence` of the shipped table.
Coverage confidence_answer();

// `shardsim import`: the texts of the files.
struct ImportAnswer {
  ModelFiles files;
  std::vector<std::string> assumed;

  // Returns the path of the scenario. Errors: those of write_folder().
  std::string write(const std::string& folder, bool force) const;
};
ImportAnswer import_answer(const ImportRequest& request);

// A table of a model in TorchRec.
struct ModelTable {
  std::string module;     // the path of its collection; "": any
  std::string name;       // in its collection
  std::string full_name;  // in a workload, which a plan may have instead
  std::uint64_t rows = 0;
  std::int64_t dim = 0;
  TableKind kind = TableKind::pooled;
};

// Refuses a plan that TorchRec could not execute with this model, on so many ranks (0: as many as the plan names), of
// which it returns the number. Errors (Failure::input, with the line of the table): those of standalone_plan(); a table
// that the plan or the model lacks, or that has another size; what TorchRec's collections cannot run.
int check_loaded_plan(const std::string& plan_json, const std::vector<ModelTable>& model, int world_size);

}  // namespace shardsim::python
