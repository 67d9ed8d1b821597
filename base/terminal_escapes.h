#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// A text as a terminal shows it without its colours: escape sequences "ESC [ ... letter" are left out.
std::string without_escapes(std::string_view text);

}  // namespace shardsim
