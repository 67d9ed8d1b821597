#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document/document.h"
#include "models/compute/embedding_measurements.h"
#include "topology/spec/cluster_spec.h"
#include "validate/measurements/judged_row.h"
#include "validate/measurements/read/measurements.h"

namespace shardsim {

struct CalibrationOptions {
  int rows_per_collective = 4;  // at most so many rows of a collective are fitted, rows_to_fit() says which
  std::string measurements;     // their path, for the sources of the fitted values
};

// A value of the file and what the rows made of it, as texts of the file.
struct CalibratedValue {
  std::string path, before, after;
};

struct ErrorsBeforeAndAfter {
  ErrorFigures before, after;
};

// What became of one collective.
struct CollectiveCalibration {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::vector<MeasuredRow> used, unused;
  ErrorsBeforeAndAfter on_used;
  ErrorsBeforeAndAfter below_1mib, from_1mib;  // of the rows that were not used

  // The error that the file states: the median of the unused rows from 1 MiB up, of all unused ones when there is none;
  // nothing where every row was used.
  std::optional<double> stated_error_pct() const;
};

struct Calibration {
  ClusterSpec
      spec;  // its `fits` is "none"; fitted values are in `sources` with the rows used and the error on the rest
  std::string system;
  std::vector<CollectiveCalibration> collectives;  // in the order of kAllCollectiveKinds
  std::vector<CalibratedValue> values;             // of each collective, then those of several
  int incomplete = 0;                              // rows without a size or a time, left out
};

// Fits overheads and efficiencies of a cluster to a few rows of one system: those that make the rows likeliest when a
// time is off by 5 % as a rule, and a value of `prior` by a factor that depends on its key (calibration_parameters.h).
// A value that the rows say nothing of stays. Rows that do not say their nodes or GPUs have those of the cluster.
// `prior` already has its fits in it (with_fits). Errors (Failure::input): fewer than two complete rows; as judge().
Calibration calibrate(const ClusterSpec& prior, const std::vector<MeasuredRow>& rows,
                      const CalibrationOptions& options);

// Writes down in `spec` that a fit gave `path` the value that a text states: from which source, on which rows, and by
// how many percent predictions of unused rows are off (below 0: not known). Replaces what was said of the path before.
void note_fitted(ClusterSpec& spec, SourcedValue value, double error_pct);

// The number of such a text: a time, a rate or a plain number, by its unit.
double fitted_number(const std::string& text, const Place& place);

// The rows of one system: of `label`, or of the only one when it is "". Errors (Failure::input): several systems and no
// label, a label that none has.
std::vector<MeasuredRow> rows_of_system(const std::vector<MeasuredRow>& rows, const std::string& label,
                                        const std::string& measurements);

// Relative errors of the roofline on some rows, in percent of the measured time.
struct ComputeErrors {
  std::string what;  // "lookup", "update", "gemm"
  int used = 0, checked = 0;
  double median_before = 0, median_after = 0, p90_after = 0;  // absolute, on the rows of the check third
};

struct ComputeCalibration {
  ClusterSpec spec;  // fitted values are in `sources`
  std::string gpu;   // as the measurements name it
  std::vector<CalibratedValue> values;
  std::vector<ComputeErrors> errors;
  int left_out = 0;  // warm, skewed, or served by caches
};

// Fits the roofline of `gpu` (kernel_overhead, copy_bandwidth as random rows reach it, lookups_per_ns, sort_per_lookup,
// sorted_update_efficiency, flops_efficiency) to the rows of the fit part, those with hash(shape) mod 3 != 0, by least
// squares of the logarithms of predicted over measured, large ones damped. Values that no row speaks of stay. Cold
// caches and uniform indices only; rows whose tables are read more than once over are left out, as in the compute model
// `measured`. Errors (Failure::input at `measurements`): fewer than four rows to fit, rows of several devices.
ComputeCalibration calibrate_compute(const ClusterSpec& prior, const EmbeddingTable& table,
                                     const std::string& measurements);

// Per collective which rows were used, how well they and the unused ones fit before and after, and the values that came
// of it.
Document calibration_document(const Calibration& calibration);

// The same of a device: per kind of operation the errors before and after, and the fitted values.
Document calibration_document(const ComputeCalibration& calibration);

}  // namespace shardsim
