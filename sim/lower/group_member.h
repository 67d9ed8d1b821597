#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/collective/byte_matrix.h"
#include "models/workload/workload.h"
#include "plan/plan.h"

namespace shardsim {

// One placement with what its sizes follow from, per source rank. Whole numbers (docs/lowering.md, "Whole numbers").
struct GroupMember {
  int shard = 0;  // index into Plan::placements and Program::shards
  const Placement* placement = nullptr;
  const Table* table = nullptr;
  AccessDistribution access;
  std::int64_t row_bytes = 0;  // of its columns

  // What an exchange carries from each source: how many, and the bytes of one on the wire.
  struct Carried {
    std::int64_t count = 0, bytes = 0;
  };
  Carried items{};                // X: ids in these rows
  Carried weights{};              // of those of them that have one
  Carried lengths{};              // features x batch
  Carried forward{}, backward{};  // vectors that the batch gets back: items of a sequence, bags of a pooled table

  bool pooled() const { return table->kind == TableKind::pooled; }
  bool tier() const { return placement->rows() < table->rows; }
  // By position in the holders' list (of a replica group): 1 where rows are, 0 for an empty shard.
  std::vector<double> shares() const;
};

GroupMember make_member(int shard, const Placement& placement, const Workload& workload, bool observed_payload);

// Expected items of one rank's batch that fall into the placement's rows, rounded half up.
std::int64_t items_per_rank(const Placement& placement, const Workload& workload, const AccessDistribution& access,
                            bool observed_payload);

// Which of them it carries.
using CarriedPart = GroupMember::Carried GroupMember::*;

// Sizes of several placements in one matrix, source -> owner by position in a group of `group_size`: in units of the
// greatest common divisor of their unit sizes.
ByteMatrix exchange_matrix(const std::vector<GroupMember>& members, int group_size, CarriedPart what);

// By node: vectors of all bags of a rank, to every node that holds the tables (docs/lowering.md, table_row_wise). What
// a source on any node sends back to the node of the owner; the output is the transpose.
ByteMatrix cross_matrix(const std::vector<GroupMember>& members, int nodes, int ranks_per_node, CarriedPart what);

// Where the rows of a lookup live: in HBM, in host memory behind a cache in HBM, or in host memory alone.
enum class RowMemory { hbm, cached, host };

// One fused lookup of a fusion group, and what updates its rows: the tables of one weight type, pooling, weighting and
// kind of compute kernel (pytorch/torchrec distributed/embedding_sharding.py, group_tables). Amounts are per rank of
// the world, one value where all ranks have the same.
struct LookupPart {
  std::vector<int> shards;  // indices into Program::shards
  RowMemory memory = RowMemory::hbm;
  bool dense_gradient =
      false;  // replicated rows, and the kernel "dense": gradients are summed, then applied to all rows

  std::vector<int> ranks;              // that hold a shard, ascending; empty: all
  std::vector<double> lookups;         // rows read
  std::vector<double> bags;            // pooled: vectors written
  std::vector<double> lookup_bytes;    // HBM, read plus written
  std::vector<double> lookup_host;     // over the host link
  std::vector<double> fetched_bytes;   // cached: rows that the cache misses, over the host link
  std::vector<double> gradient_bytes;  // HBM of the sparse gradient or of the fused update
  std::vector<double> gradient_host;
  std::vector<double> distinct_rows;  // expected
  std::vector<double> apply_bytes;    // dense_gradient: the optimizer's pass over all rows held
  std::vector<double> applied_rows;

  // The numbers of one of these, of `ranks` alone.
  std::vector<double> of_ranks(const std::vector<double>& of_all) const;
};

// The parts of a group. `group_size`: ranks whose ids a holder serves, 1 for data_parallel. `by_dtype`: tables of
// different types are looked up apart.
std::vector<LookupPart> lookup_parts(const std::vector<GroupMember>& members, const Workload& workload, int group_size,
                                     int world, bool by_dtype);

}  // namespace shardsim
