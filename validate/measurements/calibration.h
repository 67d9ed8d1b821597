#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/spec/cluster_spec.h"
#include "validate/measurements/error_figures.h"
#include "validate/measurements/measured_row.h"

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
  std::vector<MeasuredRow> used;
  int unused_rows = 0;
  ErrorsBeforeAndAfter on_used;
  ErrorsBeforeAndAfter below_1mib, from_1mib;  // of the rows that were not used
  std::vector<CalibratedValue> values;

  // The error that the file states: the median of the unused rows from 1 MiB up, of all unused ones when there is none;
  // nothing where every row was used.
  std::optional<double> stated_error_pct() const;
};

struct Calibration {
  ClusterSpec
      spec;  // its `fits` is "none"; fitted values are in `sources` with the rows used and the error on the rest
  std::string system;
  std::vector<CollectiveCalibration> collectives;  // in the order of kAllCollectiveKinds
  std::vector<CalibratedValue> shared;             // values of several collectives: launch_overhead, channel_rate
  std::vector<MeasuredRow> unused;
  int incomplete = 0;  // rows without a size or a time, left out
};

// Fits overheads and efficiencies of a cluster to a few rows of one system: those that make the rows likeliest when a
// time is off by 5 % as a rule, and a value of `prior` by a factor that depends on its key (calibration_parameters.h).
// A value that the rows say nothing of stays. Rows that do not say their nodes or GPUs have those of the cluster.
// `prior` already has its fits in it (with_fits). Errors (Failure::input): fewer than two complete rows; as judge().
Calibration calibrate(const ClusterSpec& prior, const std::vector<MeasuredRow>& rows,
                      const CalibrationOptions& options);

// The rows of one system: of `label`, or of the only one when it is "". Errors (Failure::input): several systems and no
// label, a label that none has.
std::vector<MeasuredRow> rows_of_system(const std::vector<MeasuredRow>& rows, const std::string& label,
                                        const std::string& measurements);

}  // namespace shardsim
