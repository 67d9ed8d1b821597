#pragma once

#include <string>
#include <vector>

namespace shardsim {

// What a program that was run to its end left behind.
struct ProgramOutput {
  int code = 0;  // 128 + N when signal N ended it, 127 when it could not be started
  std::string out, err;
};

// Runs a program with `input` as its standard input. It is searched for in PATH, /usr/sbin and /sbin.
// Errors: Failure::run when no process can be started.
ProgramOutput run_program(const std::vector<std::string>& command, const std::string& input = {});

}  // namespace shardsim
