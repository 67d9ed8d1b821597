#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments/arguments.h"
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

// Reads --kind, --group, --gpus-per-node, --sizes, --matrix, --skew and --loads.
// Errors (Failure::input, place "argument --NAME" or the line of a file): unknown kind or skew (lists them), no kind or
// no sizes, sizes of zero, a rank outside the cluster or in the groups twice, a matrix that is not ranks x ranks.
CollectiveRequest collective_request(const Arguments& given, const Cluster& cluster);
std::vector<Option> collective_request_options();

// "1KiB:1GiB:x2" (times 2 up to the end), "1MiB:8MiB:+1MiB" (in steps), "64KiB,1MiB" or one size; rising and unique
// where a range says so. Errors (Failure::input at `place`): not such a text, a size of zero or from 2^63 bytes, over
// 1,000 sizes.
std::vector<std::int64_t> parse_sizes(const std::string& text, const Place& place);

// A cell of a table: bytes as a plain count or with a unit. Errors as parse_count() and parse_bytes().
std::int64_t cell_bytes(const std::string& text, const Place& place);

// Reads the sums of an all-to-all, one line per member of the group: columns rank, sent_in_node, received_in_node,
// sent_off_node, received_off_node, and where the rails are known rail_0, rail_1, ... (docs/formats.md). Lines in any
// order. Errors (Failure::input, with the line where there is one): a column missing or unknown, a rank that is not of
// the group, missing or there twice, a cell that is no number of bytes; as check_rank_bytes().
std::vector<RankBytes> read_rank_bytes(const std::string& file, const std::vector<int>& ranks, const Cluster& cluster);

// Predictions in the layout of nccl-tests (src/common.cu): `#` header lines, then a row per size with size and count of
// elements (of 4 bytes; a peer's part where the size is a total), type, redop, root, time in us, algbw and busbw in
// GB/s; at its right end algorithm, protocol and bottleneck link. Uneven bytes have no busbw.
std::string collective_table(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                             const Cluster& cluster);

// The same as one JSON document (docs/formats.md, schema shardsim.collective/1).
std::string collective_json(const CollectiveRequest& request, const std::vector<CollectivePrediction>& predictions,
                            const Cluster& cluster);

}  // namespace shardsim
