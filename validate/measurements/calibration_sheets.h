#pragma once

#include <string>

#include "validate/measurements/calibration.h"

namespace shardsim {

// For a terminal: per collective which rows were used, how well they and the unused ones fit before and after, and the
// values that came of it.
std::string calibration_text(const Calibration& calibration, int width, bool colour);

}  // namespace shardsim
