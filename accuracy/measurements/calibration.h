#pragma once

#include <optional>
#include <string>
#include <vector>

#include "accuracy/measurements/judged_row.h"
#include "accuracy/measurements/read/measurements.h"
#include "base/document/document.h"
#include "models/compute/embedding_measurements.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

struct CalibrationOptions {
  std::optional<int> most_rows;  // of a collective that are fitted, rows_to_fit() says which; absent: all
  bool force = false;            // take fits that predict the rows left out worse than before, too
  std::string measurements;      // their path, for the sources of the fitted values
};

// Percentage points by which a fit may raise the median error on rows left out and still be no worse: rows of one
// setting repeat to some percent.
inline constexpr double kNoWorsePct = 1;

// A value of the file and what the rows made of it, as texts of the file.
struct CalibratedValue {
  std::string path, before, after;
};

struct ErrorsBeforeAndAfter {
  ErrorFigures before, after;

  bool is_worse() const;   // after than before, in the median and by more than kNoWorsePct
  bool is_better() const;  // in the same way
};

// The outcome for one collective within a node, or across nodes.
struct CollectiveCalibration {
  CollectiveKind kind = CollectiveKind::all_reduce;
  bool across_nodes = false;
  std::vector<MeasuredRow> used, unused;
  // Errors on rows that a fit left out: the unused ones, or where all are used each by a fit to the other four fifths.
  ErrorsBeforeAndAfter below_1mib, from_1mib;
  ErrorsBeforeAndAfter on_used;
  bool rates_alone = false;  // what is taken are efficiencies: with starts and fills the fit was worse on rows left out
  bool is_taken = false;     // else the fit is no better on the rows left out, and the cluster keeps its constants

  bool is_judged() const { return below_1mib.after.rows + from_1mib.after.rows > 0; }
  // True when the fit predicts the rows left out worse than the cluster did before, in either band of sizes.
  bool is_worse() const;
  // The error that the file states: the median of the rows left out from 1 MiB up, of all when none is so large;
  // nothing where none was left out.
  std::optional<double> stated_error_pct() const;
  std::string name() const;  // "all_reduce across nodes"
};

struct Calibration {
  ClusterSpec
      spec;  // its `fits` is "none"; fitted values are in `sources` with the rows used and the error on those left out
  std::string system;
  std::vector<CollectiveCalibration> collectives;  // in the order of kAllCollectiveKinds, within a node first
  std::vector<CalibratedValue> values;             // of each collective, then those of several
  int incomplete = 0;                              // rows without a size or a time, left out

  bool took_any() const;
  // Returns which fits predict the rows left out worse than before, with both errors: a clause, "" where none does.
  std::string worse_text() const;
  // Returns which fits miss the times by more than a factor of four in the median, which a wrong unit does: a clause,
  // "" where none does.
  std::string absurd_text() const;
};

// Fits overheads and efficiencies of a cluster to measured rows of one system, each collective within a node and across
// nodes for itself: the values that make the rows likeliest when a time is off by 5 % as a rule, and a value of `prior`
// by a factor that depends on its key (calibration_parameters.cpp). Every fit is judged by rows that it left out, and
// taken only if it predicts them no worse than `prior` does. A value that the rows say nothing of stays. Rows that do
// not say their nodes or GPUs have those of the cluster. `prior` already has its fits in it (with_fits). Errors
// (Failure::input): fewer than two complete rows; as judge().
Calibration calibrate(const ClusterSpec& prior, const std::vector<MeasuredRow>& rows,
                      const CalibrationOptions& options);

// Writes down in `spec` that a fit gave `path` the value that a text states: from which source, on which rows, and by
// how many percent predictions of unused rows are off (below 0: not known). Replaces what was said of the path before.
void note_fitted(ClusterSpec& spec, SourcedValue value, double error_pct);

// The number of such a text: a time, a rate or a plain number, by its unit.
double fitted_number(const std::string& text, const Place& place);

// Relative errors of the roofline on some rows, in percent of the measured time.
struct ComputeErrors {
  std::string what;  // "lookup", "update", "gemm"
  int used = 0, checked = 0;
  double median_before = 0, median_after = 0, p90_after = 0;  // absolute, on the rows of the check third
  double scale_after = 0;  // mean of |ln(measured / predicted)| on them, as HeldOutWork has it

  bool is_worse() const;  // than the cluster was before, on the rows of the check third
};

struct ComputeCalibration {
  ClusterSpec spec;  // fitted values are in `sources`
  std::string gpu;   // as the measurements name it
  std::vector<CalibratedValue> values;
  std::vector<ComputeErrors> errors;
  int left_out = 0;  // warm, skewed, or served by caches

  std::string worse_text() const;  // as of a Calibration
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
