#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/measurements/judged_row.h"
#include "accuracy/measurements/kernels/kernel_rows.h"
#include "base/document/document.h"
#include "models/compute/gpus/gpu_constants.h"

namespace shardsim {

// A measured kernel beside its prediction.
struct JudgedKernel {
  KernelRow row;
  std::string gpu;      // whose constants were taken; "" out of the model
  std::string assumed;  // why the row is taken to be of that GPU where its source names none; else ""
  double predicted_us = 0;
  bool is_fitted = false;  // a constant of the prediction was fitted on this very row
  std::string out_of_model;

  double error_pct() const { return percent_off(predicted_us, row.sizes.time_us); }
  Pair pair() const;  // of a row in the model, us; all rows are one group
};

// The rows of one GPU and kind, those that a constant was fitted on apart from the others.
struct KernelFigures {
  std::string gpu;
  KernelKind kind = KernelKind::lookup;
  BandFigures predicted, fitted;
};

// The result of `compute compare`. Every row weighs the same.
struct KernelJudgement {
  std::string measurements, map, model;  // paths as given, the name of the compute model
  std::string constants;                 // files that those of the GPUs come from
  std::vector<JudgedKernel> rows;        // in the order of the measurements
  std::vector<KernelFigures> by_gpu;     // in order of appearance, kinds in the order of kAllKernelKinds
  std::vector<KernelFigures> by_kind;    // over all GPUs
  BandFigures predicted, fitted;         // all kinds
  std::vector<std::pair<std::string, int>> out_of_model;  // reason, rows; in order of appearance
};

// Whose kernels are predicted, and by what.
struct KernelQuestion {
  std::string model = "gpu_kernels";  // compute model
  GpuTable table;                     // the constants of each GPU
  std::string gpus_file;              // that the table has besides the shipped one; "": none
  std::optional<GpuSpec> only;        // this GPU, as a cluster file has it, in place of the data sheets of the table
};

// Predicts each row by the constants of its GPU. Rows whose source names no GPU take the one that a rule of the map
// says. Out of the model: what rows and map say, a GPU that nobody names, one without constants, another one than
// `only`, a precision that the GPU has no rate for. Errors (Failure::input): no row is in the model.
KernelJudgement judge_kernels(const std::vector<KernelRow>& rows, const KernelMap& map, const KernelQuestion& question,
                              const std::string& measurements);

// As JSON (docs/formats/comparisons.md, shardsim.compute_comparison/1), and every row with its prediction as CSV.
std::string kernel_judgement_json(const KernelJudgement& judgement);
std::string kernel_predictions_csv(const KernelJudgement& judgement);

// For people: a table by GPU, kind and size, one over all GPUs, a sentence that sums them up; a page has a chart for
// each GPU and every row besides.
Document kernel_document(const KernelJudgement& judgement, Medium medium);
std::string kernel_summary(const KernelJudgement& judgement);
// The tables of docs/accuracy.md about kernels.
std::string kernel_markdown(const KernelJudgement& judgement);

}  // namespace shardsim
