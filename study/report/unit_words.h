#pragma once

#include <string>

namespace shardsim {

// A link by the name that Cluster gives it, in words: "NIC 7 of node 7, receiving" of "node7/nic7/in". Any other text,
// such as "rank 3 compute", stays as it is.
std::string unit_in_words(const std::string& name);
// The same for a cell of a table on a terminal: "node 7 NIC 7 in".
std::string unit_in_short(const std::string& name);

// The kind of link that limits, with its verb: "NICs limit", "NVLink limits"; "" of any other text.
std::string kind_that_limits(const std::string& name);

}  // namespace shardsim
