#pragma once

#include <cstdint>

#include "plan/flexshard_equations.h"
#include "plan/merged_rows.h"

namespace shardsim {

// Where FlexShard cuts each table into tiers: the first `dp` rows data-parallel, the next `flex` rows Flex, the rest
// row-wise.
struct TierCut {
  RowCut dp, flex;
};

enum class CutRule {
  paper,      // DP while a row saves memory that way (FlexShard paper, planning section)
  crossover,  // DP while a row takes no more memory than as Flex
  optimal,    // least summed time of the four collectives
};

struct TierRequest {
  double extra_bytes = 0;           // allowed memory over all row-wise, per GPU; may be negative
  std::uint64_t rounding = 1;       // tiers but the last are multiples of it
  bool cap_at_comm_neutral = true;  // two tiers: stop where a row more as DP costs time
  CutRule rule = CutRule::paper;    // three tiers
  double flex_stop = 0;             // three tiers: no row of smaller probability is Flex; infinite: none is
};

// Memory over all row-wise, bytes per GPU.
double extra_bytes(const CostParameters& cost, const MergedRows& rows, const TierCut& cut);

// The smallest extra_bytes for which there is a plan.
double smallest_extra_bytes(const CostParameters& cost, const MergedRows& rows, std::uint64_t rounding);

// Both need request.extra_bytes >= smallest_extra_bytes and never exceed it.
TierCut two_tier_cut(const CostParameters& cost, const MergedRows& rows, const TierRequest& request);
TierCut three_tier_cut(const CostParameters& cost, const MergedRows& rows, const TierRequest& request);

}  // namespace shardsim
