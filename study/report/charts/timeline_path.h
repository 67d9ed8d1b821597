#pragma once

#include <set>
#include <utility>
#include <vector>

#include "base/document/document.h"
#include "study/result/result.h"

namespace shardsim {

// The timeline of a case shows this beside the spans of its ranks (chart_data.h): times of the window of its last kept
// iteration, from timeline_zero_us() on. Nothing where the case has no TracedParts.

// The steps of the critical path in the order of time. Columns: rank (-1: none), op ("": none), class, kind
// (TracedParts::Step), link (in words), start_ms, end_ms.
DataSet timeline_path(const CaseResult& result);

// The bytes that move over the links of the path and over the busiest others. Columns: link (in words), op, class,
// start_ms, end_ms, moved_mb, busy_ms (that the link would take for these bytes alone).
DataSet timeline_links(const CaseResult& result);

// Ranks by their time on the path, the longest first.
std::vector<int> ranks_on_path(const CaseResult& result);

// The operations and ranks of its steps.
std::set<std::pair<int, int>> operations_on_path(const CaseResult& result);

// Where the time of a timeline begins, us on the Timeline's clock: with the window, or the first span that belongs to
// it.
double timeline_zero_us(const Timeline& timeline);

}  // namespace shardsim
