#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/planning/prepared_case.h"
#include "study/run/result.h"

namespace shardsim {

// An iteration that gets shorter when hardware gets slower looks like a fault of the simulation. Where the plan is the
// same it has two reasons: NCCL finds other channels (models/collective/slower_links.h), or operations start in another
// order and share links less. Both are said, so that nobody takes the slower cluster for the better one.

// True when nothing of `slower` is faster than in `other` and something is slower: a fault, a rate, an oversubscribed
// fabric; all else alike, names apart.
bool is_slower_hardware(const ClusterSpec& slower, const ClusterSpec& other);

// Says what makes the longer of two iterations of one Program longer, in a sentence with the two operations that share
// links longer there; "" where their critical paths do not tell. Both with their `why`.
std::string overlap_sentence(const CaseResult& longer, const CaseResult& shorter);

// Notes for a case on a cluster with faults or an oversubscribed fabric that its Program would take longer without
// them. None where it would not, and for worlds so large that a second simulation is felt.
std::vector<std::string> sound_cluster_notes(const CaseResult& result, const PreparedCase& prepared);

// Says for the first collective of the case that would be faster with slower links what NCCL finds. "" where there is
// none.
std::string slower_links_note(const PreparedCase& prepared);

}  // namespace shardsim
