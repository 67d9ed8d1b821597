#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "validate/comparison/timeline_comparison.h"

namespace shardsim {

// The (at most) `count` operations with the largest error in time, largest first: 2 us at 80 % weigh less than 50 ms at
// 15 %. Errors below a nanosecond are none.
inline constexpr std::size_t kWorstOperations = 3;  // that are shown
std::vector<ComparedOperation> worst_operations(const TimelineComparison& comparison, std::size_t count);

// A tolerance bounds the iteration, and every class and every collective that takes at least this share of the
// iteration.
inline constexpr double kJudgedShare = 0.01;
// Rows matched by class are not: their class is.
bool is_judged(const ComparedOperation& operation, bool is_class);

// What is outside the tolerance, a phrase each ("iteration +12.3 %"): iteration, classes, collectives, and operations
// of one side alone that take the share above. Empty: all within.
std::vector<std::string> outside_tolerance(const TimelineComparison& comparison, double tolerance_pct);

}  // namespace shardsim
