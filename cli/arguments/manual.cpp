#include "cli/arguments/manual.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace shardsim {
namespace {

// troff takes a backslash for an escape, a hyphen for a break, and a line that starts with a dot for a request.
std::string escaped(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (const char each : text) {
    if (line_start && (each == '.' || each == '\'')) out += "\\&";
    line_start = each == '\n';
    out += each == '\\' ? "\\e" : each == '-' ? "\\-" : std::string(1, each);
  }
  return out;
}

std::string entry(const std::string& tag, const std::string& help) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(tag), escaped(help));
}

std::string option_tag(const Option& option) {
  const std::string letter = option.letter == 0 ? "" : fmt::format("-{}, ", option.letter);
  return letter + "--" + option.name + (option.value.empty() ? "" : " " + option.value);
}

std::string lines_as_they_are(const std::string& text) {
  return text.empty() ? "" : ".PP\n.nf\n" + escaped(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

std::string body(const Command& command) {
  std::string text = ".PP\n" + escaped(command.summary) + ".\n.PP\n\\fB" + escaped(command.usage()) + "\\fR\n";
  for (const Positional& positional : command.positionals)
    text += entry(positional.name, with_choices(positional.help, positional.choices));
  for (const Option& option : command.options) text += entry(option_tag(option), option.help_text());
  text += lines_as_they_are(command.notes);
  if (!command.examples.empty()) text += ".PP\nExamples:\n" + lines_as_they_are(join(command.examples, "\n"));
  return text;
}

std::string sections(const Command& command) {
  if (command.parts.empty()) return fmt::format(".SS \"{}\"\n", escaped(command.name)) + body(command);
  std::string text;
  for (const Command& part : command.parts) text += sections(part);
  return text;
}

std::string upper(std::string text) {
  for (char& each : text) each = each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
  return text;
}

}  // namespace

std::string manual_page(const Command& program) {
  std::string text = fmt::format(".TH {} 1 \"\" \"shardsim {}\" \"User Commands\"\n", upper(program.name), version());
  text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(program.name), escaped(program.summary));
  if (program.parts.empty()) return text + ".SH DESCRIPTION\n" + body(program);
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR COMMAND ... | --help | --version\n", escaped(program.name));
  text += ".SH COMMANDS\n";
  for (const Command& part : program.parts) text += sections(part);
  if (!program.notes.empty()) text += ".SH NOTES\n" + lines_as_they_are(program.notes);
  if (!program.examples.empty()) text += ".SH EXAMPLES\n" + lines_as_they_are(join(program.examples, "\n"));
  return text;
}

}  // namespace shardsim
