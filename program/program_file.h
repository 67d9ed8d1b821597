#pragma once

#include <string>

#include "base/tree/tree.h"
#include "program/program.h"

namespace shardsim {

inline constexpr const char* kProgramSchema = "shardsim.program/2";

// docs/formats/program.md. Reading back what was written gives an equal Program, and
// writing what was read gives the same bytes.

// Errors: Failure::input for a Program that check_program refuses.
std::string program_to_json(const Program& program);

Program program_from_tree(const Tree& tree);  // checked; errors: Failure::input with the line
Program read_program_file(const std::string& path);

}  // namespace shardsim
