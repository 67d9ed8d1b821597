#pragma once

#include <functional>
#include <string>
#include <vector>

namespace shardsim {

class Arguments;

// One option of a command. Parsing, messages and `--help` are all made from this declaration.
struct Option {
  std::string name{};      // long name without dashes
  char letter = 0;         // short form, or 0
  std::string value{};     // what its value is called in the help ("N", "FILE"); "" for an option without a value
  std::string help{};      // one whole sentence
  std::string standard{};  // the value when the option is not given; "" where there is none, or where the help says it
  enum class Times { at_most_once, any, once } times = Times::at_most_once;
  std::vector<std::string> choices{};  // the only values allowed; empty: any
  std::string needs{};                 // name of the option without which this one would have no effect; "" for none

  std::string help_text() const;  // `help` with what else is declared of it, as sentences
};

// One argument that is known by its position.
struct Positional {
  std::string name{};  // as in the help: "SCENARIO"
  std::string help{};  // one whole sentence
  bool optional = false;
  std::vector<std::string> choices{};
  bool many = false;  // of the last one: it may be given several times
};

// The context that every command gets in addition to its arguments.
struct Terminal {
  bool stderr_is_terminal = false;
  bool colour = false;  // on stdout; NO_COLOR, TERM=dumb and pipes switch it off
  int width = 100;      // columns of stdout; kNoTerminal where it is none
  std::function<bool()> interrupted;
};

// A program or one of its commands. It has either parts, which are commands of their own, or `run`, which returns the
// exit code and throws Error; `run` prints its result on stdout and nothing else there.
struct Command {
  std::string name{};     // as it is typed: "shardsim cluster show"
  std::string summary{};  // one line, without the full stop
  std::vector<Positional> positionals{};
  std::vector<Option> options{};
  std::string rest{};                   // name of what follows `--` and is not looked at; "" where nothing does
  std::string notes{};                  // whole lines, after the options in the help
  std::vector<std::string> examples{};  // command lines; tests run them
  int (*run)(const Arguments& given, const Terminal& terminal) = nullptr;
  std::vector<Command> parts{};

  std::string word() const;   // the last word of the name: what chooses it among its siblings
  std::string usage() const;  // one line: "shardsim run SCENARIO [options]"
  std::string help_text() const;
};

// A help sentence and the values that are allowed, where these are a few.
std::string with_choices(const std::string& help, const std::vector<std::string>& choices);

// Runs the command that the words (those after the name of the program) ask for and returns its exit code. `--help` and
// `-h` anywhere before `--` print the help of that command. As the first word `--version` prints the version of the
// program, `--manual` its manual page, and `--completion SHELL` what that shell reads to complete its words.
// Errors (Failure::input): no such command; those of Arguments and of the command.
int run_program(const Command& program, std::vector<std::string> words, const Terminal& terminal);

// The options as such that have a meaning only together with the option `name`.
std::vector<Option> needing(const std::string& name, std::vector<Option> options);

// Options of one list, then those of another.
std::vector<Option> operator+(std::vector<Option> first, const std::vector<Option>& second);

}  // namespace shardsim
