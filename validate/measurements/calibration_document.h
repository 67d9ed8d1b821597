#pragma once

#include "base/document/document.h"
#include "validate/measurements/calibration.h"

namespace shardsim {

// Per collective which rows were used, how well they and the unused ones fit before and after, and the values that came
// of it.
Document calibration_document(const Calibration& calibration);

// The same of a device: per kind of operation the errors before and after, and the fitted values.
Document calibration_document(const ComputeCalibration& calibration);

}  // namespace shardsim
