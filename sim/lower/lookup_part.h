#pragma once

#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "plan/plan.h"
#include "sim/lower/group_member.h"

namespace shardsim {

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
