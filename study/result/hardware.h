#pragma once

#include <string>

#include "study/result/result.h"

namespace shardsim {

struct Case;
struct Scenario;

// An iteration that gets shorter when hardware gets slower looks like a fault of the simulation. Where the plan is the
// same it has two reasons: NCCL finds other channels (models/collective/slower_links.h), or operations start in another
// order and share links less. Both are said, so that nobody takes the slower cluster for the better one.

// True when nothing of `slower` is better than in `other` and something is worse: a fault, a rate, less memory, an
// oversubscribed fabric; all else alike, but for names, prices and constants that were fitted.
bool is_slower_hardware(const ClusterSpec& slower, const ClusterSpec& other);

// The case of that name, which the scenario has.
const Case& case_named(const Scenario& scenario, const std::string& name);

// True when two cases of the scenario may differ in their clusters alone: they ask for the same, of a planner that may
// answer otherwise on another cluster, or they have the same plan for one workload and batch.
bool asks_the_same(const CaseResult& one, const CaseResult& other, const Scenario& scenario);

// True when the faster of two such cases has the slower hardware.
bool is_faster_on_slower_hardware(const CaseResult& fast, const CaseResult& other, const Scenario& scenario);

// Says what makes the longer of two iterations of one Program longer, in a sentence with the two operations that share
// links longer there; "" where their critical paths do not tell. Both with their `why`.
std::string overlap_sentence(const CaseResult& longer, const CaseResult& shorter);

}  // namespace shardsim
