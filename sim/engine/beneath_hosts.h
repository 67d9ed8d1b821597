#pragma once

#include <vector>

#include "sim/engine/past_spans.h"

namespace shardsim {

// [op] What GPUs have to do while a path runs over their hosts, seconds per iteration: a host that works ahead of its
// GPU sets when the iteration ends, but the GPU does not wait for it. Where several operations run at once, the time is
// that of one that computes, or else of a collective that has begun. Empty where the path runs over no host.
std::vector<double> beneath_hosts(const PastRun& run, const PastSpans& spans, const CriticalPath& path);

}  // namespace shardsim
