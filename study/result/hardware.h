#pragma once

#include <string>

#include "study/result/result.h"

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

}  // namespace shardsim
