#include "cli/arguments/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "cli/arguments/arguments.h"
#include "cli/arguments/installed_texts.h"

namespace shardsim {
namespace {

constexpr std::size_t kHelpColumn = 27;
constexpr int kHelpWidth = 100;

// One line of help: the argument on the left, its meaning on the right, or below if the left is too long.
std::string help_line(const std::string& left, const std::string& help) {
  const std::string lines = wrapped(help, kHelpWidth, std::string(kHelpColumn, ' '));
  return left.size() + 2 <= kHelpColumn ? left + lines.substr(left.size()) : left + "\n" + lines;
}

std::string option_help(const Option& option) {
  std::string left = option.letter == 0 ? "      --" : fmt::format("  -{}, --", option.letter);
  left += option.name + (option.value.empty() ? "" : " " + option.value);
  return help_line(left, option.help_text());
}

std::string declared_help(const Command& command) {
  std::string text;
  for (const Positional& positional : command.positionals)
    text += help_line("  " + positional.name, with_choices(positional.help, positional.choices));
  for (const Option& option : command.options) text += option_help(option);
  for (const std::string& line : split(command.notes, '\n')) text += line.empty() ? "" : "  " + line + "\n";
  return text;
}

// The whole of a program with many commands is an overview, that of a command with a few parts shows all of them.
bool is_overview(const Command& command) {
  return std::ranges::any_of(command.parts, [](const Command& part) { return !part.parts.empty(); });
}

std::string parts_help(const Command& command) {
  std::string text;
  if (is_overview(command)) {
    text = "\nCommands:\n";
    for (const Command& part : command.parts) text += fmt::format("  {:<17} {}\n", part.word(), part.summary);
    return text + fmt::format("\n`{} COMMAND --help` says more.\n{}", command.name, command.notes);
  }
  for (const Command& part : command.parts)
    text += fmt::format("\n{}: {}.\n", part.name, part.summary) + declared_help(part);
  return text;
}

std::string usages(const Command& command) {
  if (command.parts.empty()) return "Usage: " + command.usage() + "\n";
  if (is_overview(command)) return fmt::format("Usage: {} COMMAND ... | --help | --version\n", command.name);
  std::string text;
  for (const Command& part : command.parts) text += (text.empty() ? "Usage: " : "       ") + part.usage() + "\n";
  return text;
}

const Command& part_named(const Command& command, const std::string& word) {
  std::vector<std::string> known;
  for (const Command& part : command.parts) {
    if (part.word() == word) return part;
    known.push_back(part.word());
  }
  throw input_error({"argument " + (word.empty() ? command.word() : word)},
                    word.empty() ? "the name of one of its commands is missing" : "unknown command",
                    known_names_hint(word, known));
}

bool asks_for_help(const std::vector<std::string>& words) {
  const auto end = std::ranges::find(words, "--");  // what follows belongs to another command
  return std::any_of(words.begin(), end, [](const std::string& word) { return word == "--help" || word == "-h"; });
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int print_completion(const Command& program, const std::vector<std::string>& words) {
  const std::string shell = words.size() == 2 ? words.back() : "";
  const std::vector<std::string> shells = completed_shells();
  if (std::ranges::find(shells, shell) != shells.end()) return print(completion(program, shell));
  throw input_error({"argument --completion"}, shell.empty() ? "name one shell" : "unknown shell " + excerpt(shell),
                    known_names_hint(shell, shells));
}

}  // namespace

std::string with_choices(const std::string& help, const std::vector<std::string>& choices) {
  return choices.empty() ? help : help + " One of: " + join(choices) + ".";
}

std::string Option::help_text() const {
  std::string text = with_choices(help, choices);
  if (!standard.empty()) text += " Default: " + standard + ".";
  if (times == Times::any) text += " May be repeated.";
  return text;
}

std::string Command::word() const {
  return name.substr(name.rfind(' ') + 1);
}

std::string Command::usage() const {
  std::string text = name;
  bool more = false;
  for (const Positional& positional : positionals)
    text +=
        (positional.optional ? " [" + positional.name + "]" : " " + positional.name) + (positional.many ? "..." : "");
  for (const Option& option : options) {
    more = more || option.times != Option::Times::once;
    if (option.times != Option::Times::once) continue;
    text += (option.letter == 0 ? " --" + option.name : fmt::format(" -{}", option.letter)) +
            (option.value.empty() ? "" : " " + option.value);
  }
  return text + (more ? " [options]" : "") + (rest.empty() ? "" : " -- " + rest);
}

std::string Command::help_text() const {
  std::string text = fmt::format("{}: {}.\n\n", name, summary) + usages(*this);
  text += parts.empty() ? declared_help(*this) : parts_help(*this);
  if (!examples.empty()) text += "\nExamples:\n";
  for (const std::string& example : examples) text += "  " + example + "\n";
  return text;
}

int run_program(const Command& program, std::vector<std::string> words, const Terminal& terminal) {
  const std::string first = words.empty() ? "" : words.front();
  if (first == "--version") return print(program.name + " " + version() + "\n");
  if (first == "--manual") return print(manual_page(program));
  if (first == "--completion") return print_completion(program, words);
  if (!program.parts.empty() && words.empty()) {
    std::fputs(program.help_text().c_str(), stderr);
    return 2;
  }
  if (!program.parts.empty() && (first == "--help" || first == "-h" || first == "help"))
    return print(program.help_text());
  const Command* command = &program;
  while (!command->parts.empty()) {
    const bool is_part = !words.empty() && words.front() != "--help" && words.front() != "-h";
    if (!is_part && !words.empty()) break;
    command = &part_named(*command, words.empty() ? "" : words.front());
    words.erase(words.begin());
  }
  if (asks_for_help(words)) return print(command->help_text());
  return command->run(Arguments(words, *command), terminal);
}

std::vector<Option> needing(const std::string& name, std::vector<Option> options) {
  for (Option& option : options) option.needs = name;
  return options;
}

std::vector<Option> operator+(std::vector<Option> first, const std::vector<Option>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace shardsim
