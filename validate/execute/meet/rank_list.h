#pragma once

#include <string>
#include <vector>

namespace shardsim {

// "rank 3", "ranks 1, 2 and 5", "ranks 0 to 7 and 12": ascending ranks for a message.
std::string rank_list(const std::vector<int>& ranks);

}  // namespace shardsim
