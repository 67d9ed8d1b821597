#pragma once

#include <string>
#include <string_view>

#include "base/tree/tree.h"

namespace shardsim {

// Reads one JSON document into a Tree (numbers and literals as their text, strings as quoted scalars); places carry
// line and column. Keys are kept as written. Refuses duplicate keys, nesting over 64, and anything after the document.
// Errors: Failure::input with the line.
Tree parse_json(std::string_view text, const std::string& source);

Tree read_json_file(const std::string& path);

// True when a document of ours holds no more values than parse_json() takes, to within a few brackets.
bool has_readable_length(std::string_view text);

}  // namespace shardsim
