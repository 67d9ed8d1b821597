#include "cli/arguments/installed_texts.h"

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

namespace {

// A name that shells take for a function's.
std::string function_of(const Command& program) {
  return "_" + replaced(program.name, "-", "_");
}

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string completed_words(const Command& command) {
  std::vector<std::string> words;
  for (const Command& part : command.parts) words.push_back(part.word());
  for (const Positional& positional : command.positionals)
    words.insert(words.end(), positional.choices.begin(), positional.choices.end());
  for (const Option& option : command.options) words.push_back("--" + option.name);
  words.push_back("--help");
  return join(words, " ");
}

// The words that complete each command, by the command's name.
std::string word_cases(const Command& command) {
  std::string text =
      fmt::format("    {}) words={} ;;\n", shell_quoted(command.name), shell_quoted(completed_words(command)));
  for (const Command& part : command.parts) text += word_cases(part);
  return text;
}

std::string part_cases(const Command& command) {
  std::string text;
  for (const Command& part : command.parts)
    text += fmt::format("      {}) name=\"$name ${{COMP_WORDS[i]}}\" ;;\n", shell_quoted(part.name)) + part_cases(part);
  return text;
}

// The values that may follow each option that takes one; none, which completes as a file name, where any value is
// allowed.
std::string value_cases(const Command& command) {
  std::string text;
  for (const Option& option : command.options) {
    if (option.value.empty()) continue;
    std::string spellings = shell_quoted(command.name + " --" + option.name);
    if (option.letter != 0) spellings += "|" + shell_quoted(fmt::format("{} -{}", command.name, option.letter));
    text += fmt::format("    {}) words={} ;;\n", spellings, shell_quoted(join(option.choices, " ")));
  }
  for (const Command& part : command.parts) text += value_cases(part);
  return text;
}

std::string for_bash(const Command& program) {
  const std::string function = function_of(program);
  std::string text = fmt::format("# Completes the words of {} in bash.\n{}() {{\n", program.name, function);
  text += fmt::format("  local i words= name={}\n  COMPREPLY=()\n", shell_quoted(program.name));
  text += "  for ((i = 1; i < COMP_CWORD; ++i)); do\n    case \"$name ${COMP_WORDS[i]}\" in\n" + part_cases(program) +
          "      *) ;;\n    esac\n  done\n";
  text += "  case \"$name\" in\n" + word_cases(program) + "  esac\n";
  text += "  case \"$name ${COMP_WORDS[COMP_CWORD - 1]}\" in\n" + value_cases(program) + "    *) ;;\n  esac\n";
  text += "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n";
  return text + fmt::format("complete -o default -F {} {}\n", function, program.name);
}

std::string for_zsh(const Command& program) {
  return fmt::format("#compdef {}\nautoload -U +X bashcompinit && bashcompinit\n", program.name) + for_bash(program);
}

// The condition under which fish offers what belongs to a command.
std::string fish_condition(const Command& program, const Command& command) {
  std::string text;
  for (const std::string& word : split(command.name.substr(program.name.size()), ' '))
    if (!word.empty()) text += (text.empty() ? "" : "; and ") + fmt::format("__fish_seen_subcommand_from {}", word);
  std::vector<std::string> parts;
  for (const Command& part : command.parts) parts.push_back(part.word());
  if (!parts.empty())
    text += (text.empty() ? "" : "; and ") + fmt::format("not __fish_seen_subcommand_from {}", join(parts, " "));
  return text.empty() ? "" : " -n " + fish_quoted(text);
}

std::string fish_lines(const Command& program, const Command& command) {
  const std::string start = fmt::format("complete -c {}{}", program.name, fish_condition(program, command));
  std::string text;
  for (const Command& part : command.parts)
    text += fmt::format("{} -f -a {} -d {}\n", start, part.word(), fish_quoted(part.summary));
  for (const Positional& positional : command.positionals)
    if (!positional.choices.empty())
      text += fmt::format("{} -f -a {}\n", start, fish_quoted(join(positional.choices, " ")));
  for (const Option& option : command.options) {
    text += fmt::format("{} -l {}", start, option.name);
    if (option.letter != 0) text += fmt::format(" -s {}", option.letter);
    if (!option.value.empty()) text += " -r";
    if (!option.choices.empty()) text += " -f -a " + fish_quoted(join(option.choices, " "));
    text += " -d " + fish_quoted(option.help) + "\n";
  }
  for (const Command& part : command.parts) text += fish_lines(program, part);
  return text;
}

}  // namespace

std::vector<std::string> completed_shells() {
  return {"bash", "fish", "zsh"};
}

std::string completion(const Command& program, const std::string& shell) {
  if (shell == "bash") return for_bash(program);
  if (shell == "zsh") return for_zsh(program);
  return "# Completes the words of " + program.name + " in fish.\n" + fish_lines(program, program);
}

}  // namespace shardsim
