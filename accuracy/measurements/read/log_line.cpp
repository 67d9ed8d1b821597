#include "accuracy/measurements/read/log_line.h"

#include <algorithm>
#include <cstddef>

namespace shardsim {
namespace {

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

}  // namespace

std::string_view without_label(std::string_view line) {
  for (std::string_view text = without_blanks(line);; text = without_blanks(text)) {
    const std::size_t label = std::max({bracket_label(text), time_label(text), word_label(text)});
    if (label == 0) return text;
    text.remove_prefix(label);
  }
}

}  // namespace shardsim
