#pragma once

#include <string>

#include "cli/arguments/command.h"

namespace shardsim {

// The manual page of a program, section 1, as troff source for `man`: made from the declarations that its help is made
// from, all commands on one page.
std::string manual_page(const Command& program);

}  // namespace shardsim
