#pragma once

#include <cstdint>

#include "validate/execute/kernels/cuda_memory.h"
#include "validate/execute/kernels/row_law.h"

namespace shardsim::cuda {

// Lookups of one table that a GPU draws: a popularity position each, which a bijection makes a row number.
struct DrawnTable {
  IdLaw law;  // in device memory
  std::uint64_t rows;
  std::uint64_t key;          // of the bijection: hash "feistel_splitmix/1" (docs/formats/plan.md)
  std::uint64_t name;         // hash of the table's name: with a salt the seed of the draws
  std::int64_t first = 0;     // of the table's ids in the call
  double average_length = 0;  // ids of a sample
};

// `tables` are in device memory; everything is launched on `stream`, as in cuda_embedding.h.

// indices[count]: id i of a table comes from number i of Rng(mix(name, salt)) (base/rng.h), as shard_bench.h draws it
// on a CPU.
void draw_ids(const DrawnTable* tables, int table_count, std::int64_t count, std::uint64_t salt, std::int64_t* indices,
              Stream stream);

// offsets[tables x bags + 1]: bag b of a table has the ids from floor(b L) to floor((b + 1) L) behind its first.
void begin_bags(const DrawnTable* tables, int table_count, std::int64_t bags, std::int64_t count, std::int64_t* offsets,
                Stream stream);

}  // namespace shardsim::cuda
