#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments/arguments.h"
#include "models/collective/collective_prediction.h"

namespace shardsim {

// A request to `shardsim collective predict`: one kind, its groups, its sizes.
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

// Reads the bytes of an all-to-all from each member of the group to each, header `source,0,1,...` and one line per
// source: member i sends cell [i][j] to member j. Errors (Failure::input): other columns or lines than these, a cell
// that is no number of bytes.
std::vector<std::vector<std::int64_t>> read_byte_matrix(const std::string& file, std::size_t ranks);

// Reads the sums of an all-to-all, one line per member of the group: columns rank, sent_in_node, received_in_node,
// sent_off_node, received_off_node, and where the rails are known rail_0, rail_1, ... (docs/formats/comparisons.md).
// Lines in any order. Errors (Failure::input, with the line where there is one): a column missing or unknown, a rank
// that is not of the group, missing or there twice, a cell that is no number of bytes; as check_rank_bytes().
std::vector<RankBytes> read_rank_bytes(const std::string& file, const std::vector<int>& ranks, const Cluster& cluster);

}  // namespace shardsim
