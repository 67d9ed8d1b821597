#pragma once

#include <string>
#include <vector>

#include "models/collective/rank_bytes.h"

namespace shardsim {

// Reads the sums of an all-to-all, one line per member of the group: columns rank, sent_in_node, received_in_node,
// sent_off_node, received_off_node, and where the rails are known rail_0, rail_1, ... (docs/formats.md). Lines in any
// order. Errors (Failure::input, with the line where there is one): a column missing or unknown, a rank that is not of
// the group, missing or there twice, a cell that is no number of bytes; as check_rank_bytes().
std::vector<RankBytes> read_rank_bytes(const std::string& file, const std::vector<int>& ranks, const Cluster& cluster);

}  // namespace shardsim
