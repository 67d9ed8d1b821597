#pragma once

#include <string>

#include "base/error.h"

namespace shardsim {

// The failure of a read, to be thrown; `error_number` is errno's. Failure::input, or Failure::run where the process
// lacks descriptors or memory, which says nothing about the file.
Error cannot_read(const std::string& path, int error_number);

}  // namespace shardsim
