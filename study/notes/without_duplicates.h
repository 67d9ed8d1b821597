#pragma once

#include <optional>
#include <string>

#include "base/packed.h"
#include "study/planning/prepared_case.h"

namespace shardsim {

// A case whose sequence tables exchange every id as often as the batch has it, simulated with its plan and index_dedup.
struct WithoutDuplicates {
  double iteration_ms = 0;
  double fewer_ids = 1, fewer_bytes = 1;  // times: of ids, and of vectors and gradients, that sequences exchange
  bool operator==(const WithoutDuplicates&) const = default;
};

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<WithoutDuplicates> auto& without) {
  visit(without.iteration_ms, without.fewer_ids, without.fewer_bytes);
}

// False where no table is left to ask, of batches that are drawn, of jobs, of other software than TorchRec's, of
// published cases, and of more than 64 ranks, since it costs a simulation.
bool asks_without_duplicates(const Case& item);

// Nothing where that is not asked.
std::optional<WithoutDuplicates> without_duplicates(const PreparedCase& prepared);

// "1.8", and "1.02" where a digit behind the point would say "1.0 times fewer".
std::string fewer_text(double times);

}  // namespace shardsim
