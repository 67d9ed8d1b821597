#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/collective/byte_matrix.h"
#include "models/load/id_counts.h"
#include "models/load/row_shares.h"
#include "models/workload/workload.h"
#include "plan/plan.h"
#include "plan/row_stores.h"
#include "program/program.h"
#include "sim/lower/draws/drawn_batch.h"
#include "sim/lower/lower.h"

namespace shardsim {

// One placement with what its sizes follow from, per source rank. Whole numbers (docs/lowering.md, "Whole numbers").
struct GroupMember {
  int shard = 0;  // index into Plan::placements and Program::shards
  const Placement* placement = nullptr;
  const Table* table = nullptr;
  AccessDistribution access;
  std::int64_t row_bytes = 0;  // of its columns

  // The items that an exchange carries from each source: their number, and the bytes of one on the wire.
  struct Carried {
    std::int64_t count = 0, bytes = 0;
  };
  Carried items{};                // X: ids in these rows; of index_dedup the different ones
  Carried weights{};              // of those of them that have one
  Carried lengths{};              // samples of its features
  Carried strides{};              // how many samples each feature has, where they differ; else none
  Carried forward{}, backward{};  // vectors that the batch gets back: items of a sequence, bags of a pooled table
  Dtype forward_type = Dtype::fp32, backward_type = Dtype::fp32;  // of their elements on the wire
  // The same from node to node, where sums that were made in a node go on; elsewhere as above.
  Carried cross_forward{}, cross_backward{};
  Dtype cross_forward_type = Dtype::fp32, cross_backward_type = Dtype::fp32;
  bool latest_cached = false;  // a cache holds the latest rows, else the hottest
  RowCaches caches{};          // of a kernel with a cache: shares of the rows
  bool own_types = false;      // stated by the table itself, other ones than the workload has for it

  std::int64_t expanded = 0;     // bags of the whole batch, where features have batches of their own; else 0
  std::int64_t occurrences = 0;  // ids in these rows, each as often as the batch has it
  // index_dedup: the shares of the owners in one rank's different ids, as far as `uneven` tells owners apart.
  std::vector<double> shares_of_different{};

  // The shares of its owners in the lookups; null where every owner with rows gets as many.
  std::shared_ptr<const RowShares> uneven{};
  // The counts that were drawn for it; null: the counts above are those of every rank.
  const DrawnPlacement* drawn = nullptr;

  bool pooled() const { return table->kind == TableKind::pooled; }
  bool tier() const { return placement->rows() < table->rows; }
  // By position in the holders' list (of a replica group), in any unit: of the lookups, and of what the batches have
  // before duplicates are removed.
  std::vector<double> shares() const {
    return shares_of_different.empty() ? shares_of_occurrences() : shares_of_different;
  }
  std::vector<double> shares_of_occurrences() const;
  // True when the holder at that position has rows; tables of few rows have holders without.
  bool has_rows(int position) const;
};

// Part of a table's ids that belong to such features.
double share_of_ids(const Table& table, bool (*counts)(const Feature&));

// Ranks of the first list of holders that have rows, and the nodes on which they lie, ascending.
std::vector<int> owning_ranks(const GroupMember& member);
std::vector<int> owning_nodes(const GroupMember& member, int ranks_per_node);

// `program`: whose shards are known, with the hash of their rows.
GroupMember make_member(int shard, const Placement& placement, const RowCaches& caches, const Workload& workload,
                        const Program& program, const LoweringOptions& options, KnownShares& known);

// Returns how many of the `of_one_source` items each of `group_size` sources sends to each owner, by position in the
// holders' list.
IdCounts counts_of(const GroupMember& member, std::int64_t of_one_source, int group_size);

// Expected items of one rank's batch that fall into the placement's rows, rounded half up.
std::int64_t items_per_rank(const Placement& placement, const Workload& workload, const AccessDistribution& access,
                            bool observed_payload);

// The kind of item that is carried, such as &GroupMember::forward.
using CarriedPart = GroupMember::Carried GroupMember::*;

// Returns how many of them each rank of a drawn batch sends to each owner; null where they do not follow from the ids:
// lengths, and vectors of bags.
const CellCounts* drawn_counts(const GroupMember& member, CarriedPart what);

// Sizes of several placements in one matrix, source -> owner by position in a group of `group_size`: in units of the
// greatest common divisor of their unit sizes. Vectors of pooled tables go to every owner that has rows: they are
// partial sums, or the table has one owner.
ByteMatrix exchange_matrix(const std::vector<GroupMember>& members, int group_size, CarriedPart what);

// The same of a drawn batch, in the set of these ranks: dense.
ByteMatrix drawn_matrix(const std::vector<GroupMember>& members, const std::vector<int>& set, CarriedPart what);

// By node: vectors of all bags of a rank, to every node that holds the tables (docs/lowering.md, table_row_wise). It
// has what a source on any node sends back to the node of the owner; the output is the transpose.
ByteMatrix cross_matrix(const std::vector<GroupMember>& members, int nodes, int ranks_per_node, CarriedPart what);

// The whole number next to it, the higher one of two.
inline std::int64_t half_up(double value) {
  return static_cast<std::int64_t>(std::floor(value + 0.5));
}

// The memory in which the rows of a lookup live: HBM, host memory behind a cache in HBM, or host memory alone.
enum class RowMemory { hbm, cached, host };

// Errors (Failure::input): a compute kernel that cannot be lowered.
RowMemory memory_of(const GroupMember& member);
// None where the cache in HBM holds all rows.
RowStore store_of(const GroupMember& member);

// Errors (Failure::input): rows outside of HBM for HugeCTR's embeddings, which hold all of them there; a cache that the
// workload's pipeline cannot fill ahead.
void check_memory(const GroupMember& member, const Workload& workload);

}  // namespace shardsim
