#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace shardsim {

int exit_code(Failure failure);  // docs/formats.md, exit codes

// Prints "error: MESSAGE" on stderr; returns `code`.
int report_error(int code, const std::string& message);

// Runs `body`; what it throws becomes one line on stderr and an exit code. Output that could not be written is an error
// too.
int guarded(const std::function<int()>& body);

}  // namespace shardsim
