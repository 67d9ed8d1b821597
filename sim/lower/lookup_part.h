#pragma once

#include <vector>

#include "sim/lower/group_member.h"

namespace shardsim {

// Bytes that one read of an SSD brings (BlockBasedTableOptions::block_size of RocksDB, by default).
inline constexpr double kStoreBlock = 4096;

// One fused lookup of a fusion group, and what updates its rows: the tables of one weight type, pooling, weighting and
// kind of compute kernel (pytorch/torchrec distributed/embedding_sharding.py, group_tables). Amounts are per rank of
// the world, one value where all ranks have the same.
struct LookupPart {
  std::vector<int> shards;  // indices into Program::shards
  RowMemory memory = RowMemory::hbm;
  RowStore store = RowStore::none;  // behind the cache
  // Replicated rows, and the kernel "dense": gradients are summed, then applied to all rows.
  bool dense_gradient = false;
  bool trains_weights = false;  // some ids have weights that get a gradient
  bool accumulates = false;  // dense_gradient: in a tensor that an optimizer beside the update takes, after all batches

  std::vector<int> ranks;             // that hold a shard, ascending; empty: all
  std::vector<bool> asked;            // [rank] may have lookups
  std::vector<double> lookups;        // rows read
  std::vector<double> bags;           // pooled: vectors written
  std::vector<double> distinct_rows;  // expected
  std::vector<double> more_rows;      // the same of kMoreIds as many lookups; all 0: nobody asked
  std::vector<double> fetched_bytes;  // cached: rows that the cache misses, over the host link

  // Bytes that a kernel reads and writes in HBM, and over the host link.
  struct Moved {
    std::vector<double> hbm, host;
  };
  Moved lookup_bytes;
  Moved gradient_bytes;                // of the sparse gradient or of the fused update
  std::vector<double> weight_lookups;  // of ids whose weights get a gradient
  Moved weight_bytes;                  // of the kernel of these gradients

  // Key-value stores: bytes of rows that the host fetches, and writes back; for those of them that lie on SSDs blocks
  // of kStoreBlock, and bytes of these rows.
  struct Stored {
    std::vector<double> bytes, ssd_reads, ssd_bytes;
  };
  Stored stored;

  // dense_gradient: bytes of the optimizer's pass over all rows that are held, their number, and their own bytes.
  struct Applied {
    std::vector<double> bytes, rows, held_bytes;
  };
  Applied applied;

  // HugeCTR: bytes of the rows read, of the vectors written, and of the gradients of these.
  struct HugeCtr {
    std::vector<double> row_bytes, vector_bytes, gradient_bytes;
  };
  HugeCtr hugectr;

  // The work on each table: one for each of `shards`, by rank of the world; none: nobody asked.
  std::vector<OpTable> tables;

  // The numbers of one of these, of `ranks` alone.
  std::vector<double> of_ranks(const std::vector<double>& of_all) const;
  // The tables with the lookups of `ranks` alone.
  std::vector<OpTable> tables_of_ranks() const;
  // d ln of the different rows / d ln of the lookups, of `ranks` alone; 0 where nobody asked.
  std::vector<double> growth() const;
  // Mean bytes of one of `count`, of `ranks` alone; 0 where there is none.
  std::vector<double> per_one(const std::vector<double>& bytes, const std::vector<double>& count) const;
};

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
