#pragma once

#include <string_view>

namespace shardsim {

// U+FEFF in UTF-8, with which some editors begin a file.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

// Returns the first character that is not a blank, after a byte order mark; 0 when the file has none. It tells one kind
// of file from another before the file is read.
inline char first_character(std::string_view text) {
  text = without_byte_order_mark(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? '\0' : text[first];
}

}  // namespace shardsim
