#pragma once

#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/op_work.h"

namespace shardsim {

// Seconds that one iteration occupies each link of the cluster.
std::vector<double> link_seconds(const std::vector<OpWork>& works, const Cluster& cluster);

// The busiest of the cluster's links ([link] busy seconds out of `seconds`); of links that are busy alike but for
// rounding the first.
Utilisation busiest_link(const std::vector<double>& busy, const Cluster& cluster, double seconds);

// The stream of a rank that works longest, collectives apart, over an iteration of so many seconds. Streams overlap, so
// each counts by itself.
Utilisation busiest_rank(const Program& program, const std::vector<OpWork>& works, double iteration_seconds);

}  // namespace shardsim
