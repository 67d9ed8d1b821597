#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tree/map_reader.h"

namespace shardsim {

// A cluster whose times are compared with those of others, and the constants in it that were fitted to measurements.
struct ComparedCluster {
  std::string name;
  bool several_nodes = false;  // whether what a constant says of calls across nodes counts
  std::vector<SourcedValue> fitted;
  bool operator==(const ComparedCluster&) const = default;
};

// Sentences that name the constants of collectives which two of the clusters have from different measurements, or one
// of them from none: the order of their times may come of that. Each pair of kinds of evidence once, with all clusters
// of both. `without_fits`: what would leave the fitted constants out of the comparison.
std::vector<std::string> unlike_evidence(const std::vector<ComparedCluster>& clusters,
                                         std::string_view without_fits = "`--set cluster.fits=none`");
// The same for a screen that has room for a line or two: which clusters, and no constants. "" where all are alike.
std::string unlike_evidence_in_short(const std::vector<ComparedCluster>& clusters);

}  // namespace shardsim
