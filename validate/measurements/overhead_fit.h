#pragma once

#include <string>
#include <vector>

#include "validate/measurements/calibration_parameters.h"
#include "validate/measurements/judged_row.h"

namespace shardsim {

// Rows of one system, predicted on a cluster; nothing but the file's own numbers is used.
std::vector<JudgedRow> judged_on(const ClusterSpec& spec, const std::vector<MeasuredRow>& rows);

struct OverheadFit {
  ClusterSpec spec;                       // with the fitted numbers, rounded as a file writes them
  std::vector<CalibratedNumber> changed;  // those that the rows moved
};

// The parameters of parameters_of() that make the rows likeliest: the sum of (ln predicted / measured / 5 %)^2 and of
// (ln value / prior's value / spread)^2 is least. `prior` has its launch overhead in its starts.
OverheadFit fit_overheads(const ClusterSpec& prior, const std::vector<MeasuredRow>& rows);

}  // namespace shardsim
