#include "base/utf16.h"

namespace shardsim {

bool is_utf16(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
}

std::string ascii_of_utf16(std::string_view text) {
  const std::size_t low = text.starts_with("\xff\xfe") ? 0 : 1;
  std::string ascii;
  for (std::size_t at = 2; at + 1 < text.size(); at += 2) {
    const char character = text[at + low];
    ascii += text[at + 1 - low] == '\0' && character > 0 ? character : '?';
  }
  return ascii;
}

}  // namespace shardsim
