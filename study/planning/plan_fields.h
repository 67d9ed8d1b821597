#pragma once

#include "base/packed.h"
#include "plan/plan.h"

namespace shardsim {

// The members of a plan, for the pipe between processes. Files have a form of their own (plan/plan_file.h).

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Placement> auto& placement) {
  visit(placement.table, placement.row_begin, placement.row_end, placement.column_begin, placement.column_end,
        placement.strategy, placement.holders, placement.compute_kernel, placement.cache_load_factor);
}

template <typename Visitor>
void fields(Visitor& visit, MaybeConst<Plan> auto& plan) {
  visit(plan.placements, plan.hash_seed, plan.modules, plan.idle_caches);
}

}  // namespace shardsim
