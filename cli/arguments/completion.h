#pragma once

#include <string>
#include <vector>

#include "cli/arguments/command.h"

namespace shardsim {

// Shells that a program can complete its words for.
std::vector<std::string> completed_shells();

// What `shell` (one of these) reads to complete the words of the program: commands, options, and values that are one of
// a few. Everything else completes as file names.
std::string completion(const Command& program, const std::string& shell);

}  // namespace shardsim
