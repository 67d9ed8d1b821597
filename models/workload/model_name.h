#pragma once

#include <string>
#include <string_view>

#include "base/tree/leaf.h"

namespace shardsim {

// Line ends, tabs and the like, which names do not have.
bool has_control_characters(std::string_view text);

// The names of tables and features, and the paths of modules: whatever the code of a model calls them, as "user id".
LeafReader<std::string> model_name_leaf();

}  // namespace shardsim
