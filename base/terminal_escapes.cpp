#include "base/terminal_escapes.h"

namespace shardsim {

std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b' || at + 1 >= text.size() || text[at + 1] != '[') {
      plain += text[at];
      continue;
    }
    at = text.find_first_of("ABCDEFGHJKSTfhlmnsu", at + 2);
    if (at == std::string_view::npos) break;
  }
  return plain;
}

}  // namespace shardsim
