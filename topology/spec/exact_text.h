#pragma once

#include <string>

#include "base/units.h"

namespace shardsim {

// Text in double quotes as YAML reads it back.
std::string yaml_quoted(const std::string& text);

// A quantity as a file writes it, exactly: reading it gives the same number. In the unit of people where that is exact.
std::string exact_text(Bytes bytes);
std::string exact_text(Seconds time);
std::string exact_text(Bandwidth rate);
std::string exact_text(Flops rate);

}  // namespace shardsim
