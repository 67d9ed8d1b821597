#pragma once

#include <string_view>

namespace shardsim {

// U+FEFF in UTF-8, with which some editors begin a file.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

// What tells one kind of file from another before it is read: the first character that is no blank, after a byte order
// mark. 0: there is none, and the file is empty.
inline char first_character(std::string_view text) {
  text = without_byte_order_mark(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? '\0' : text[first];
}

}  // namespace shardsim
