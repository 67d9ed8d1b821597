#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace shardsim {

// Slurm's short forms. Errors (Failure::input at `place`): brackets that do not match, ranges that are none.

// "gpu[01-04,07],x1" -> gpu01 gpu02 gpu03 gpu04 gpu07 x1; several brackets in one name multiply.
std::vector<std::string> expand_node_list(std::string_view text, const Place& place);

// "4(x2),3" -> 4 4 3: tasks on each node.
std::vector<int> expand_tasks_per_node(std::string_view text, const Place& place);

}  // namespace shardsim
