#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "sim/scenario/scenario.h"

namespace shardsim {

// The options that change a scenario: --set, --seed, --memory-model.
std::vector<OptionSpec> scenario_options();
Overrides overrides(const Arguments& arguments);

// The case named by --case, or the only one. Errors: several cases and no --case; an unknown name (lists them).
const Case& chosen_case(const Scenario& scenario, const Arguments& arguments);

// Prints the text, or writes it to the file of -o ("-" is stdout). Refuses to overwrite a file that does not carry
// `schema` unless --force is given.
void deliver(const std::string& text, const Arguments& arguments, const std::string& schema);

}  // namespace shardsim
