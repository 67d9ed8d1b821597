#pragma once

#include <optional>
#include <string>

#include "study/planning/prepared_case.h"
#include "study/run/result.h"

namespace shardsim {

// A case whose sequence tables exchange every id as often as the batch has it, simulated with its plan and index_dedup.
struct WithoutDuplicates {
  double iteration_ms = 0;
  double fewer_ids = 1, fewer_bytes = 1;  // times: of ids, and of vectors and gradients, that sequences exchange
};

// Nothing where no table is left to ask, of batches that are drawn, of jobs, of other software than TorchRec's, of
// published cases, and of more than 64 ranks, since it costs a simulation.
std::optional<WithoutDuplicates> without_duplicates(const CaseResult& result, const PreparedCase& prepared);

// Says what index_dedup would save, where that is 1 % of the iteration or more; "" else.
std::string duplicates_note(const CaseResult& result, const WithoutDuplicates& without);

}  // namespace shardsim
