#pragma once

#include <string>

#include "base/error.h"
#include "base/result_folder.h"
#include "cli/arguments/arguments.h"

namespace shardsim {

// Refuses a file of -o that the HDF5 file of a training may not be written to, before hours of training. Errors:
// Failure::input for standard output and for the file that is read; those of check_result().
inline void check_learned_output(const Arguments& given) {
  const std::string path = given.text("output");
  if (path == "-")
    throw input_error(Arguments::place("output"), "an HDF5 file cannot be written to standard output", "Name a file");
  refuse_read_file(path, given.positional());
  check_result(path, result_writer(given));
}

}  // namespace shardsim
