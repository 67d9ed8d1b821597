#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "base/stop_signals.h"
#include "cli/arguments/command.h"

namespace shardsim {

// Terminal output, interruption and exit codes, which the three programs share.

// Exit code: a figure is outside what was asked or promised.
inline constexpr int kOutsideTolerance = static_cast<int>(Failure::tolerance);

// A line on stderr, after what stdout was given: where both go to one file, lines stay whole and in order.
void say(const std::string& line);

// Prints a result on stdout, as it is: a file of ours, or a table that has been laid out for the terminal.
void print_result(const std::string& text);

// Prints lines on stdout that name what the user named: without what would steer the terminal.
void print_lines(const std::string& lines);

// Prints "error: MESSAGE" on stderr; returns `code`.
int report_error(int code, const std::string& message);

// Runs `body`; what it throws becomes one line on stderr and an exit code. Output that could not be written is an error
// too.
int guarded(const std::function<int()>& body);

// Finds out whether the streams are terminals, their width, and whether they get colour; `interrupted` asks
// caught_signal().
Terminal look_at_terminal();

}  // namespace shardsim
