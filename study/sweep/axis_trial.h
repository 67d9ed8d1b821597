#pragma once

#include <vector>

#include "base/error.h"
#include "study/sweep/sweep.h"

namespace shardsim {

// Refuses an axis of which no value can be read: its path leads nowhere, so that every point would fail.
// Errors: Failure::input, as its first value has it.
void refuse_hopeless_axes(const Sweep& sweep);

// Returns the errors in values of axes that no point of the sweep can be read with: unknown words, missing units. One
// error (Failure::input) for each, at its place, in the order of the axes, and one for an axis of which no value can be
// read; at most kMostWrongValues. Every value of a list is read once, of a range or a draw its first and its last, up
// to kMostTriedValues in all.
std::vector<Error> wrong_values(const Sweep& sweep);

inline constexpr std::size_t kMostWrongValues = 100;
inline constexpr std::size_t kMostTriedValues = 20'000;

}  // namespace shardsim
