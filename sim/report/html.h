#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// Text as element content or as a quoted attribute value.
std::string escape_html(std::string_view text);

// JSON text for a script element: every "<" as \u003c, so that no value can end the element or open a comment.
std::string escape_script_json(std::string_view json);

}  // namespace shardsim
