#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/stop_signals.h"
#include "base/workers.h"

namespace {

using namespace shardsim;

bool wants_colour(bool is_terminal) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  return is_terminal && !(terminal != nullptr && std::strcmp(terminal, "dumb") == 0);
}

int columns(bool is_terminal) {
  winsize size{};
  if (!is_terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::max<int>(size.ws_col, 60);
}

Terminal look_at_terminal() {
  Terminal terminal;
  terminal.stdout_is_terminal = isatty(STDOUT_FILENO) != 0;
  terminal.stderr_is_terminal = isatty(STDERR_FILENO) != 0;
  terminal.colour = wants_colour(terminal.stdout_is_terminal);
  terminal.width = columns(terminal.stdout_is_terminal);
  terminal.interrupted = [] { return caught_signal() != 0; };
  return terminal;
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> known;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    known.emplace_back(command.name);
  }
  throw input_error({"argument " + name}, "unknown command", known_names_hint(name, known));
}

int dispatch(std::vector<std::string> arguments) {
  if (arguments.empty()) {
    std::fputs(overall_help().c_str(), stderr);
    return 2;
  }
  const std::string name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    std::fputs(overall_help().c_str(), stdout);
    return 0;
  }
  if (name == "--version") {
    std::puts(("shardsim " + version()).c_str());
    return 0;
  }
  const Command& command = find_command(name);
  arguments.erase(arguments.begin());
  for (const std::string& argument : arguments) {
    if (argument == "--") break;  // what follows belongs to another command
    if (argument != "--help" && argument != "-h") continue;
    std::fputs(command_help(command).c_str(), stdout);
    return 0;
  }
  return command.run(arguments, look_at_terminal());
}

int dispatch_until_stopped(const std::vector<std::string>& arguments) {
  try {
    return dispatch(arguments);
  } catch (const Interrupted&) {
    return report_error(128 + caught_signal(), "stopped; nothing was left half written.");
  }
}

}  // namespace

int main(int count, char** values) {
  catch_signals();
  return guarded([&] { return dispatch_until_stopped(std::vector<std::string>(values + 1, values + count)); });
}
