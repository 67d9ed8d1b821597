#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// What every command gets from main beside its arguments.
struct Terminal {
  bool stdout_is_terminal = false;
  bool stderr_is_terminal = false;
  bool colour = false;  // on stdout; NO_COLOR, TERM=dumb and pipes switch it off
  int width = 100;      // columns of stdout
  std::function<bool()> interrupted;
};

// One sub-command. `run` returns the exit code and throws Error; it prints its result on stdout and nothing else there.
struct Command {
  std::string_view name;
  std::string_view help;      // one line
  std::string_view usage;     // arguments and options, one line per option
  std::string_view examples;  // two command lines; tests run them
  int (*run)(const std::vector<std::string>& arguments, const Terminal& terminal);
};

std::span<const Command> commands();  // in the order of a user's work

// The whole text of `shardsim NAME --help`, and of `shardsim --help`.
std::string command_help(const Command& command);
std::string overall_help();

}  // namespace shardsim
