#pragma once

#include <string>

#include "base/error.h"

namespace shardsim {

// The Error for a failed read, which the caller throws; `error_number` is errno. It is Failure::input, or Failure::run
// if the process has no descriptors or memory left, because that is no fault of the file.
Error cannot_read(const std::string& path, int error_number);

}  // namespace shardsim
