#pragma once

#include <cstddef>
#include <vector>

#include "base/document/document.h"
#include "study/report/documents/sweep_order.h"
#include "study/sweep/sweep_result.h"

namespace shardsim {

// The sections of a sweep's document below its points. `points`: those that are shown, in their order.

// How sure the choice of a plan is for each combination of the other axes, and one machine beside the next.
Section sweep_how_sure(const SweepResult& result, const std::vector<std::size_t>& points, Medium medium,
                       SweepOrder order);

// That the clusters of the points rest on unlike evidence, for a first screen; "" where they do not.
std::string sweep_evidence_sentence(const SweepResult& result, const std::vector<std::size_t>& points);

// The facts to know about the clusters and the compute models, each sentence once with the number of points.
Section sweep_notes(const SweepResult& result, const std::vector<std::size_t>& points);

// The points that failed, alike messages together.
Section sweep_failures(const SweepResult& result);

// That the point which stands first beats others of the same question on hardware that is nowhere better; "" where it
// does not.
std::string sweep_order_warning(const SweepResult& result, std::size_t first);

// That a measured part of the iteration is as long at every batch, where these points differ in it; "" where none is.
std::string same_rest_sentence(const SweepResult& result, const std::vector<std::size_t>& points);

}  // namespace shardsim
