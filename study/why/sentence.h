#pragma once

#include <string>

#include "study/why/table_shares.h"
#include "study/why/why.h"

namespace shardsim {

// The answer in a sentence or two: the two most expensive kinds of work on the path with the tables that they are for,
// and whom the other ranks wait for, if that is worth a word.
std::string why_sentence(const Why& why, const Program& program, const Cluster& cluster, const CriticalPath& path,
                         TableShares& shares);

// The collective in which the mean rank waits longest for another one; null where that is not worth a word.
const CollectivePart* longest_waiting(const Why& why);

// "rank 63, which is longest in global_all_to_all (mostly table history_1)", of a collective that waits.
std::string waited_rank_text(const CollectivePart& part);

// "the NICs" of links of that kind; "the PCIe slots of the NICs" where a collective of that class has no more of a NIC
// than its slot carries, so that a faster NIC changes nothing.
std::string_view medium_of(LinkKind kind, std::string_view op_class, const Cluster& cluster);

// The way between the memory of a GPU and that of its host, and whether a step mostly waits for bytes on it.
std::string_view host_link_name(const Cluster& cluster);
// The slowest part of a step that moves bytes from or to the host: the link, its SSDs or its memory; "" for other
// steps.
std::string host_way_of(const PathStep& step, const Program& program, const Cluster& cluster);

}  // namespace shardsim
