#include "base/replaced.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace shardsim {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string shell_quoted(const std::string& word) {
  return "'" + replaced(word, "'", "'\\''") + "'";
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "_-./+,:@%=";
  const bool plain = std::ranges::all_of(word, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
  });
  return plain && !word.empty() ? word : shell_quoted(word);
}

}  // namespace shardsim
