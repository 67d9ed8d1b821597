#pragma once

namespace shardsim {

// How much longer the longest iteration of plans of planner `search` is than the shortest, relative, where nothing but
// the seed or the order of tables differs: the most that scripts/search_spread.py finds, rounded up (docs/planners.md).
inline constexpr double kSearchSpread = 0.03;

}  // namespace shardsim
