#pragma once

#include <string>
#include <string_view>

#include "base/tree/tree.h"

namespace shardsim {

// A text in YAML's double quotes, with control characters escaped: names of files may hold them, and YAML files not.
std::string in_yaml_quotes(std::string_view text);

// A tree on one line, as YAML writes it in braces: "{name: greedy, by: size}". Equal trees have equal texts, and
// different trees different ones.
std::string flow_text(const Tree& tree);

}  // namespace shardsim
