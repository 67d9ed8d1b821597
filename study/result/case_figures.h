#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "plan/memory_need.h"
#include "study/result/result.h"

namespace shardsim {

// Figures that follow from the result of a case: whether its plan fits, and by what it is chosen.

MemoryNeed memory_need(const CaseResult& result);
bool fits(const CaseResult& result);

// The end of the name of a case that stands beside that of --torchrec-only: what its planner does without the limit.
// It is no answer, for it was excluded.
inline constexpr std::string_view kWithoutLimit = "/beyond_torchrec";
bool is_without_limit(const CaseResult& result);

// [draw] ms of an iteration by where its hot rows may lie; empty where nothing depends on it.
std::vector<double> row_placements_ms(const CaseResult& result);
// The geometric mean over them: what a case is chosen by, for two cases may be told in a fast and in a slow placement.
// `iteration_ms` where nothing depends on where rows lie.
double expected_ms(const CaseResult& result);
double expected_rate(const CaseResult& result);  // samples per second, likewise

// The order of cases, the first the one to choose: by time to a billionth of it, then by how far its range reaches
// above the time, then by the memory that the fullest GPU needs. Times that differ by rounding are no reason for a
// choice, and of two plans that both wait for the host the one with more slack behind it is.
using OrderKey = std::tuple<std::int64_t, double, std::int64_t>;
// `time` is what they are ordered by: an iteration, or a sample where they differ in batch or GPUs; `reach`: the end of
// the range over the time.
OrderKey order_key(double time, double reach, std::int64_t memory);
OrderKey order_key(double time, const CaseResult& result);

}  // namespace shardsim
