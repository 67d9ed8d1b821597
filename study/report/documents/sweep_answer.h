#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "study/report/documents/sweep_order.h"
#include "study/sweep/sweep_result.h"

namespace shardsim {

// The sentences with which the document of a sweep answers.

// The best point, with its range and what limits it, how many points there are, and what nobody should overlook of
// their memory. `fastest`: all points, of most samples per second first; `sorted`: in the order of the document.
std::string sweep_summary(const SweepResult& result, const std::vector<std::size_t>& fastest,
                          const std::vector<std::size_t>& sorted, SweepOrder order);

// The cost of a million samples at the fastest point that fits, and the point at which they cost least, where that is
// another one. `first`: the point that the summary has told of, "there".
std::string sweep_cost_text(const SweepResult& result, const std::vector<std::size_t>& fastest, std::size_t first);

// Names other points that somebody might choose.
std::string sweep_alternatives_text(const SweepResult& result, const std::vector<std::size_t>& fastest,
                                    std::size_t first, SweepOrder order);

// What index_dedup would take off the points that are told first, where that is telling: by their roles, for their
// values stand in the sentences around it.
std::string sweep_dedup_text(const SweepResult& result, SweepOrder order);

// Explains the question marks of these points.
std::string sweep_doubt_sentence(const SweepResult& result, const std::vector<std::size_t>& points);

// That TorchRec cannot run the plan of the point which stands first, and the best of those that it can; "" where it
// can.
std::string sweep_torchrec_warning(const SweepResult& result, const std::vector<std::size_t>& sorted);

}  // namespace shardsim
