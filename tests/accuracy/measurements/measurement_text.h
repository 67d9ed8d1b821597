#pragma once

#include <string>

#include "accuracy/measurements/read/measurements.h"
#include "tests/base/error_text.h"

namespace shardsim {

inline const std::string kMeasurementHeader = "system,case,nodes,gpus_per_node,collective,size_bytes,calls,time_us\n";

inline Measurements measured(const std::string& rows) {
  return read_measurement_csv(kMeasurementHeader + rows, "m.csv");
}

inline std::string measurement_fault(const std::string& text) {
  return error_of([&] { read_measurement_csv(text, "m.csv"); });
}

}  // namespace shardsim
