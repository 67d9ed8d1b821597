#pragma once

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

// The memory in which the rows of a lookup live: HBM, host memory behind a cache in HBM, or host memory alone.
enum class RowMemory { hbm, cached, host };

// Bytes that one read of an SSD brings (BlockBasedTableOptions::block_size of RocksDB, by default).
inline constexpr double kStoreBlock = 4096;

// One fused lookup of a fusion group, and what updates its rows: the tables of one weight type, pooling, weighting and
// kind of compute kernel (pytorch/torchrec distributed/embedding_sharding.py, group_tables). Amounts are per rank of
// the world, one value where all ranks have the same.
struct LookupPart {
  std::vector<int> shards;  // indices into Program::shards
  RowMemory memory = RowMemory::hbm;
  RowStore store = RowStore::none;  // behind the cache
  bool dense_gradient =
      false;  // replicated rows, and the kernel "dense": gradients are summed, then applied to all rows

  bool trains_weights = false;  // some ids have weights that get a gradient
  bool accumulates = false;  // dense_gradient: in a tensor that an optimizer beside the update takes, after all batches

  std::vector<int> ranks;              // that hold a shard, ascending; empty: all
  std::vector<bool> asked;             // [rank] may have lookups
  std::vector<double> lookups;         // rows read
  std::vector<double> bags;            // pooled: vectors written
  std::vector<double> lookup_bytes;    // HBM, read plus written
  std::vector<double> lookup_host;     // over the host link
  std::vector<double> fetched_bytes;   // cached: rows that the cache misses, over the host link
  std::vector<double> stored_bytes;    // key-value stores: of rows that the host fetches, and writes back
  std::vector<double> ssd_reads;       // for those of them that lie on SSDs: blocks of kStoreBlock
  std::vector<double> ssd_bytes;       // of these rows
  std::vector<double> gradient_bytes;  // HBM of the sparse gradient or of the fused update
  std::vector<double> gradient_host;
  std::vector<double> distinct_rows;  // expected
  // Of ids whose weights get a gradient: their number, and what its kernel reads and writes, HBM and over the host
  // link.
  std::vector<double> weight_lookups, weight_bytes, weight_host;
  std::vector<double> apply_bytes;  // dense_gradient: the optimizer's pass over all rows held
  std::vector<double> applied_rows;
  std::vector<double> held_bytes;  // of these rows
  std::vector<double> more_rows;   // expected different rows of kMoreIds as many lookups; all 0: nobody asked
  // One for each of `shards`, by rank of the world; none: nobody asked.
  std::vector<OpTable> tables;
  // HugeCTR: bytes of the rows read, of the vectors written, and of the gradients of these.
  std::vector<double> row_bytes, vector_bytes, vector_gradient_bytes;

  // The numbers of one of these, of `ranks` alone.
  std::vector<double> of_ranks(const std::vector<double>& of_all) const;
  // The tables with the lookups of `ranks` alone.
  std::vector<OpTable> tables_of_ranks() const;
  // d ln of the different rows / d ln of the lookups, of `ranks` alone; 0 where nobody asked.
  std::vector<double> growth() const;
  // Mean bytes of one of `count`, of `ranks` alone; 0 where there is none.
  std::vector<double> per_one(const std::vector<double>& bytes, const std::vector<double>& count) const;
};

// The rows of a placement in drawn batches. `owners`: shares of its lookups by cell; `draws` of expected batches, of
// all whom it serves.
std::shared_ptr<const DrawnRows> drawn_rows(const GroupMember& member, const std::vector<double>& owners, double draws);

struct PartRules {
  bool by_dtype = false;         // tables of different types are looked up apart
  bool growth = false;           // how different rows grow with the lookups is asked for
  bool tables = false;           // what each table does is asked for
  KnownShares* known = nullptr;  // of earlier calls for the same tables; none: found anew
  bool fills_ahead = false;      // caches get the rows of a batch while the one before it is trained
};

// The parts of a group. `group_size`: ranks whose ids a holder serves, 1 for data_parallel.
std::vector<LookupPart> lookup_parts(const std::vector<GroupMember>& members, const Workload& workload, int group_size,
                                     int world, const PartRules& rules);

}  // namespace shardsim
