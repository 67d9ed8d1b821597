#pragma once

#include <string>
#include <vector>

#include "base/tree/tree.h"

namespace shardsim {

// Whole numbers in [0, end), each `what` ("GPU", "NIC"), and such a list as YAML.
int read_index(const Tree& tree, int end, const std::string& what);
std::vector<int> read_indices(const Tree& list, int end, const std::string& what);
std::string indices_text(const std::vector<int>& indices);

}  // namespace shardsim
