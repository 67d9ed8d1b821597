#pragma once

#include <vector>

#include "program/program.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// The time that the rank at this position among those of an operation needs for its rows of key-value stores, if its
// node's SSDs and memory serve nobody else: reads of blocks, their bytes, and bytes that are copied in host memory,
// whichever takes longest. 0 for other operations.
Seconds stored_rows_time(const Op& op, std::size_t position, const ClusterSpec& spec);

// True when the SSDs take most of it.
bool waits_for_ssd(const Op& op, std::size_t position, const ClusterSpec& spec);

// [position] The same where all ranks of a node begin at once, and each gets an even share of what those who are not
// done leave: the bytes of others count up to as many as the rank has itself.
std::vector<double> shared_stored_rows_seconds(const Op& op, const Program& program, const ClusterSpec& spec);

}  // namespace shardsim
