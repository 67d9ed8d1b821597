#pragma once

#include <string>
#include <vector>

#include "base/tree/tree.h"

namespace shardsim {

// Ranks as plan and program files write them: a list of counts, or a text "FIRST-LAST", "FIRST-LAST:STRIDE", "5".
// Order matters. Errors (Failure::input): a rank twice, or outside [0, world_size).
std::vector<int> read_rank_set(const Tree& tree, int world_size);

// The same notation over the nodes of a cluster.
std::vector<int> read_node_set(const Tree& tree, int nodes);

// The shortest text for these ranks, or "" when they are no arithmetic progression.
std::string rank_set_text(const std::vector<int>& ranks);

// Any ranks in their order, as rank sets separated by commas: "0-31,40-56:8,3"; "" for none.
std::string rank_sets_text(const std::vector<int>& ranks);

// The ranks of such a text, and their number without making the list. Errors (Failure::input, at `place`): another
// text, a rank outside [0, world_size); for the list alone, a rank twice.
std::vector<int> read_rank_sets(const std::string& text, int world_size, const Place& place);
std::size_t count_in_rank_sets(const std::string& text, int world_size, const Place& place);

// Whole numbers in [0, end), each `what` ("GPU", "NIC"), and such a list as YAML.
int read_index(const Tree& tree, int end, const std::string& what);
std::vector<int> read_indices(const Tree& list, int end, const std::string& what);
std::string indices_text(const std::vector<int>& indices);

}  // namespace shardsim
