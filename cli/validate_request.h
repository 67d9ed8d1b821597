#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "validate/execute/run/execute.h"

namespace shardsim {

// What the arguments of shardsim-validate ask for.
struct ValidateRequest {
  std::string output;
  std::string trace;         // folder of Kineto traces; "": none
  int check_iterations = 0;  // --check-data; 0: measure
  ExecuteOptions options;
};

std::vector<OptionSpec> validate_options();
std::string validate_help();

// Errors (Failure::input): counts out of range, an unknown device or transport, no output where one is needed, an
// output that is there and is no Timeline (unless --force).
ValidateRequest validate_request(const Arguments& given);

}  // namespace shardsim
