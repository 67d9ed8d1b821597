#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "models/collective/collective_prediction.h"

namespace shardsim {

// What `shardsim collective predict` is asked: one kind, its groups, its sizes.
struct CollectiveRequest {
  std::string label;  // as asked: "all_to_all_v" is told apart from "all_to_all"
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string group;                     // "world", "node", "cross_node", or the list as given
  std::vector<std::vector<int>> groups;  // at the same time; the first one is asked about
  std::vector<std::int64_t> sizes;       // bytes, as nccl-tests counts
  std::vector<ByteMatrix> matrices;      // of each size, all_to_all_v only

  std::vector<RankBytes> rank_bytes;  // all_to_all_v of which only sums are known

  bool uneven() const { return !matrices.empty() || !rank_bytes.empty(); }
};

// Options: kind, group, gpus-per-node, sizes, matrix, skew, loads.
// Errors (Failure::input, place "argument --NAME" or the line of a file): unknown kind or skew (lists them), no kind or
// no sizes, sizes of zero, a rank outside the cluster or in the groups twice, a matrix that is not ranks x ranks.
CollectiveRequest collective_request(const Arguments& given, const Cluster& cluster);

}  // namespace shardsim
