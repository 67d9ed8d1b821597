#include "accuracy/measurements/read/log_line.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <sstream>
#include <vector>

namespace shardsim {
namespace {

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

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view without_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// The length of "[...]" with "<stdout>" and a colon behind it; 0: no such label.
std::size_t bracket_label(std::string_view text) {
  if (!text.starts_with('[')) return 0;
  std::size_t end = text.find(']');
  if (end == std::string_view::npos) return 0;
  ++end;
  if (text.substr(end).starts_with('<')) {
    const std::size_t stream = text.find('>', end);
    if (stream == std::string_view::npos) return 0;
    end = stream + 1;
  }
  return text.substr(end).starts_with(':') ? end + 1 : end;
}

// A word without blanks before ": " or " | ", as srun, pdsh and docker write it. A comment of nccl-tests is none.
std::size_t word_label(std::string_view text) {
  const std::size_t end = text.find_first_of(" \t");
  if (end == std::string_view::npos || end == 0 || text.front() == '#') return 0;
  if (text[end - 1] == ':') return end > 1 ? end + 1 : 0;
  const std::string_view rest = without_blanks(text.substr(end));
  return rest.starts_with("| ") ? text.size() - rest.size() + 2 : 0;
}

// "2026-07-01T12:00:00.123Z ", with a blank for the T as well.
std::size_t time_label(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (text.size() < kForm.size()) return 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '0' ? !is_digit(text[i]) : kForm[i] != text[i] && !(kForm[i] == 'T' && text[i] == ' ')) return 0;
  }
  const std::size_t end = text.find_first_of(" \t", kForm.size());
  return end == std::string_view::npos ? 0 : end + 1;
}

// `"..."` of a list, and `{"log":"...\n","stream":...}` of a container's file.
std::string_view without_quotes(std::string_view text) {
  constexpr std::string_view kContainer = "{\"log\":\"", kLineEnd = "\\n";
  std::string_view inner = without_blanks(text);
  if (inner.starts_with(kContainer)) {
    inner.remove_prefix(kContainer.size());
  } else if (inner.starts_with('"')) {
    inner.remove_prefix(1);
  } else {
    return text;
  }
  const std::size_t end = inner.find('"');
  if (end == std::string_view::npos) return text;
  inner = inner.substr(0, end);
  if (inner.ends_with(kLineEnd)) inner.remove_suffix(kLineEnd.size());
  return inner;
}

// Where a comment of nccl-tests begins, by its words; npos: nowhere.
std::size_t comment_begin(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kBegins = {"Rank ",
                                                               "size ",
                                                               "bytes ",
                                                               "(B)",
                                                               "Using devices",
                                                               "nThread ",
                                                               "Blocking Enabled",
                                                               "Collective test starting:",
                                                               "Out of bounds",
                                                               "Avg bus",
                                                               "nccl-tests version",
                                                               "rccl-tests version"};
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1)) {
    std::string_view rest = text.substr(at);
    while (rest.starts_with('#')) rest.remove_prefix(1);
    rest = without_blanks(rest);
    if (std::ranges::any_of(kBegins, [&](std::string_view begin) { return rest.starts_with(begin); })) return at;
  }
  return std::string_view::npos;
}

bool begins_with_number(std::string_view text) {
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  return !word.empty() && std::ranges::all_of(word, is_digit);
}

std::string_view after_word(std::string_view text) {
  return without_blanks(text.substr(std::min(text.find_first_of(" \t"), text.size())));
}

std::size_t count_words(std::string_view text) {
  std::size_t words = 0;
  for (text = without_blanks(text); !text.empty(); text = after_word(text)) ++words;
  return words;
}

}  // namespace

std::vector<std::string> words_in(std::string_view line) {
  std::istringstream words{std::string(line)};
  return {std::istream_iterator<std::string>(words), {}};
}

std::optional<NcclCommand> command_in(std::string_view line) {
  if (line.find("_perf") == std::string_view::npos) return std::nullopt;
  const std::vector<std::string> words = words_in(line);
  const auto program = std::ranges::find_if(words, is_program);
  if (program == words.end()) return std::nullopt;
  const bool has_options = program + 1 == words.end() || (program + 1)->starts_with('-');
  const bool is_launched = std::any_of(words.begin(), program, is_launcher);
  const bool is_first = std::all_of(words.begin(), program, may_precede);
  const bool stands_alone = words.size() == 1;  // in a list of files
  if (!is_launched && (!is_first || !has_options || stands_alone)) return std::nullopt;
  return NcclCommand{name_of_word(*program), is_launched, {program + 1, words.end()}};
}

bool is_launch(std::string_view line) {
  const std::vector<std::string> words = words_in(line);
  return std::ranges::any_of(words, is_launcher) || std::ranges::find(words, "-x") != words.end() ||
         (!words.empty() && words.back() == "\\") || command_in(line).has_value();
}

std::string_view without_label(std::string_view line) {
  for (std::string_view text = without_blanks(line);; text = without_blanks(text)) {
    const std::size_t label = std::max({bracket_label(text), time_label(text), word_label(text)});
    if (label == 0) return text;
    text.remove_prefix(label);
  }
}

std::string_view LineLabels::without(std::string_view line) {
  const std::string_view text = without_label(without_quotes(line));
  if (const std::size_t comment = comment_begin(text); comment != std::string_view::npos) {
    words_ = count_words(text.substr(0, comment));
    is_number_ = begins_with_number(text);
    return text.substr(comment);
  }
  if (words_ == 0 || (begins_with_number(text) && !is_number_)) return text;
  std::string_view rest = text;
  for (std::size_t word = 0; word < words_; ++word) rest = after_word(rest);
  return !rest.empty() && is_digit(rest.front()) ? rest : text;
}

}  // namespace shardsim
