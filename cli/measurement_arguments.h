#pragma once

#include <filesystem>
#include <string>

#include "cli/arguments.h"
#include "validate/measurements/measurements.h"

namespace shardsim {

// What --system and --kind say of the measurements.
RunHints measurement_hints(const Arguments& given);

// The notes of the reader on stderr, a line each.
void print_notes(const Measurements& measurements);

}  // namespace shardsim
