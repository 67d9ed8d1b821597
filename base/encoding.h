#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shardsim {

// Bytes of the UTF-8 character at `at`; 0 when it is none.
std::size_t character_length(std::string_view text, std::size_t at);

// True when the text holds no byte that only a binary file has (NUL and other control characters but tab and line ends)
// and is well-formed UTF-8. `bad_offset` is where it first is not.
bool is_plain_text(std::string_view text, std::size_t& bad_offset);

// What a file that is no text is, "a ZIP archive", and how the text is got from it; nothing where its first bytes do
// not say it.
struct BinaryFormat {
  std::string_view name, remedy;
};
std::optional<BinaryFormat> binary_format(std::string_view bytes);

// True of a text of two bytes a character, as programs on Windows write their output: its first two are a mark.
bool is_utf16(std::string_view text);

// Such a text in ASCII, in which tables and topologies are written. Any other character becomes "?".
std::string ascii_of_utf16(std::string_view text);

}  // namespace shardsim
