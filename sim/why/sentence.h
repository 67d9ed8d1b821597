#pragma once

#include <string>

#include "sim/why/table_shares.h"
#include "sim/why/why.h"

namespace shardsim {

// The answer in a sentence or two: the two most expensive kinds of work on the path with the tables that they are for,
// and whom the other ranks wait for, if that is worth a word.
std::string why_sentence(const Why& why, const Program& program, const Cluster& cluster, const CriticalPath& path,
                         TableShares& shares);

// "the NICs" of links of that kind.
std::string_view medium_of(LinkKind kind);

}  // namespace shardsim
