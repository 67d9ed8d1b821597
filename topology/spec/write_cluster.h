#pragma once

#include <string>

#include "topology/spec/cluster_spec.h"

namespace shardsim {

// A cluster as the text of a cluster file (docs/formats.md), every key written out, none left to a default. Reading the
// text gives an equal ClusterSpec, for every spec that read_cluster() can give. Where a number states its source
// (`ClusterSpec::sources`) the text of that source entry is written, so whoever changes a sourced number changes both.
std::string write_cluster(const ClusterSpec& spec);

}  // namespace shardsim
