#pragma once

#include <string>
#include <vector>

#include "cli/collective_request.h"

namespace shardsim {

// Predictions in the layout of nccl-tests (src/common.cu): `#` header lines, then a row per size with size and count of
// elements (of 4 bytes; a peer's part where the size is a total), type, redop, root, time in us, algbw and busbw in
// GB/s; at its right end algorithm, protocol and bottleneck link. Uneven bytes have no busbw.
std::string collective_table(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                             const Cluster& cluster);

// The same as one JSON document (docs/formats.md, schema shardsim.collective/1).
std::string collective_json(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                            const Cluster& cluster);

}  // namespace shardsim
