#pragma once

#include <string>
#include <vector>

#include "accuracy/measurements/calibration.h"

namespace shardsim {

// A row that stands apart from those of other sizes of its collective on as many nodes and GPUs.
struct Outlier {
  MeasuredRow row;
  double times = 1;  // its time over what the rows of the sizes beside it let expect
};

// The rows that make a fit worse than the cluster was before: without them, those of its collectives that were worse
// are fitted well. Empty where no few rows stand apart, or where the fit is no better without them. No row is left out
// by its time (README.md): whoever measured it can say whether something else ran meanwhile.
std::vector<Outlier> spoiling_rows(const ClusterSpec& prior, const Calibration& made,
                                   const CalibrationOptions& options);

// "out.csv:12 (all_reduce 1x8 1 MiB, 8.0 times the time that the other sizes let expect)", joined.
std::string outliers_text(const std::vector<Outlier>& outliers);

}  // namespace shardsim
