#pragma once

#include <string>

#include "study/planning/prepared_case.h"
#include "study/result/result.h"

namespace shardsim {

// What the iteration would be with the other module, of pooled tables or of sequences, first in the forward pass: with
// the same plan, simulated once more. "" where that changes less than 3 %, where the workload has one module, and for
// worlds so large that a second simulation is felt.
std::string other_order_note(const CaseResult& result, const PreparedCase& prepared);

// Of a plan whose sequences of several dimensions are exchanged together, as TorchRec's modules are not: how many calls
// of collectives more those would make, and how long these take at least.
std::string fused_sequences_note(const PreparedCase& prepared);

}  // namespace shardsim
