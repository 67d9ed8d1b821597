#pragma once

#include <string>

#include "accuracy/measurements/read/measurements.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// Why a run that did not use what the cluster has is no measurement of it: "NCCL_P2P_DISABLE=1, so its GPUs did not
// copy directly, as those of the cluster do"; "" where the cluster has nothing of what the log says was switched off,
// or the row needs nothing of it. The same of a run whose GPUs copied directly where those of the cluster do not. The
// row is laid out.
std::string switched_off(const MeasuredRow& row, const ClusterSpec& spec);

}  // namespace shardsim
