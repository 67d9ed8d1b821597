#pragma once

#include <string>

#include "sim/program.h"

namespace shardsim {

// docs/formats.md, program files (`shardsim.program/1`).
std::string program_to_json(const Program& program);
Program program_from_tree(const Tree& tree);  // checked; errors: Failure::input with the line
Program read_program_file(const std::string& path);

}  // namespace shardsim
