#pragma once

#include <string>
#include <vector>

#include "cli/arguments/command.h"

namespace shardsim {

// What is installed beside a program, made from the declarations that its help is made from.

// The manual page, section 1, as troff source for `man`: all commands on one page.
std::string manual_page(const Command& program);

// Shells that a program can complete its words for.
std::vector<std::string> completed_shells();

// The script with which `shell` (one of these) completes the words of the program: commands, options, and values that
// are one of a few. Everything else completes as file names.
std::string completion(const Command& program, const std::string& shell);

}  // namespace shardsim
