#include "accuracy/measurements/read/log_command.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <vector>

namespace shardsim {
namespace {

using CommandWords = std::vector<std::string>;

CommandWords command_words(std::string_view line) {
  std::istringstream words{std::string(line)};
  return {std::istream_iterator<std::string>(words), {}};
}

std::string name_of_word(std::string word) {
  std::erase_if(word, [](char c) { return c == '"' || c == '\'' || c == ','; });
  return word.substr(word.rfind('/') + 1);
}

bool is_launcher(const std::string& word) {
  static constexpr std::array<std::string_view, 12> kLaunchers = {"aprun",  "flux",          "jsrun",    "mpiexec",
                                                                  "mpirun", "mpiexec.hydra", "orterun",  "prterun",
                                                                  "prun",   "srun",          "torchrun", "torchx"};
  return std::ranges::find(kLaunchers, name_of_word(word)) != kLaunchers.end();
}

// These may stand before the name of a program in its command: a prompt, variables, programs that run others.
bool may_precede(const std::string& word) {
  static constexpr std::array<std::string_view, 12> kWords = {"$",   "+",    "++",      "%",       ">",    "#",
                                                              "env", "exec", "numactl", "taskset", "time", "sudo"};
  return word.find('=') != std::string::npos || word.ends_with('$') || word.ends_with('#') ||
         std::ranges::find(kWords, word) != kWords.end();
}

bool is_program(const std::string& word) {
  constexpr std::string_view kEnd = "_perf";
  const std::string name = name_of_word(word);
  return name.size() > kEnd.size() && name.ends_with(kEnd) &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
}

}  // namespace

std::optional<std::string> program_of_command(std::string_view line) {
  if (line.find("_perf") == std::string_view::npos) return std::nullopt;
  const CommandWords words = command_words(line);
  const auto program = std::ranges::find_if(words, is_program);
  if (program == words.end()) return std::nullopt;
  const bool has_options = program + 1 == words.end() || (program + 1)->starts_with('-');
  const bool is_launched = std::any_of(words.begin(), program, is_launcher);
  const bool is_first = std::all_of(words.begin(), program, may_precede);
  const bool stands_alone = words.size() == 1;  // in a list of files
  if (!is_launched && (!is_first || !has_options || stands_alone)) return std::nullopt;
  return name_of_word(*program);
}

bool is_launch(std::string_view line) {
  const CommandWords words = command_words(line);
  return std::ranges::any_of(words, is_launcher) || std::ranges::find(words, "-x") != words.end() ||
         (!words.empty() && words.back() == "\\") || program_of_command(line).has_value();
}

}  // namespace shardsim
