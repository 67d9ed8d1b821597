#include "base/replaced.h"

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

}  // namespace shardsim
