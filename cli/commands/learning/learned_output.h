#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/command.h"

namespace shardsim {

// Whether -o may name where `what` ("policy") is written: a file, and without --force none of another kind, which
// `read` refuses. Errors: Failure::input with the remedy.
template <typename Read>
void check_learned_output(const Arguments& given, const std::string& what, const Read& read) {
  const std::string path = given.text("output");
  if (path == "-")
    throw input_error(Arguments::place("output"), "an HDF5 file cannot be written to standard output", "Name a file");
  refuse_read_file(path, given.positional());
  if (!is_there(path) || given.has("force")) return;
  try {
    read(path);
  } catch (const Error&) {
    throw input_error({path}, "the file exists and does not hold a " + what, "Name another file, or add --force");
  }
}

}  // namespace shardsim
