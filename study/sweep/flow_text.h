#pragma once

#include <string>

#include "base/tree/tree.h"

namespace shardsim {

// A tree on one line, as YAML writes it in braces: "{name: greedy, by: size}". Equal trees have equal texts, and
// different trees different ones.
std::string flow_text(const Tree& tree);

}  // namespace shardsim
