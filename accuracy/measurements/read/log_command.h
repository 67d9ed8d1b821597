#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shardsim {

// The program of nccl-tests that a shell or a launcher is told to run by a line, as in "$ mpirun -np 16
// ./build/all_reduce_perf -b 8": its name or path. Nothing where the line only names one, as lists of files and
// messages of compilers do.
std::optional<std::string> program_of_command(std::string_view line);

// True when the line is a command of a launcher, or a part of one that goes on behind it: what it sets holds for one
// run.
bool is_launch(std::string_view line);

}  // namespace shardsim
