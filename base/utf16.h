#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// True of a text of two bytes a character, as programs on Windows write their output: its first two are a mark.
bool is_utf16(std::string_view text);

// Such a text in ASCII, in which tables and topologies are written. Any other character becomes "?".
std::string ascii_of_utf16(std::string_view text);

}  // namespace shardsim
