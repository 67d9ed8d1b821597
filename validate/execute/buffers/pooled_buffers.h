#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/program.h"
#include "validate/execute/fusion/fusion.h"
#include "validate/execute/fusion/pooled_layout.h"
#include "validate/execute/fusion/rank_rows.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// One call of the pooled kernels: a block of the rank's chunks (pooled_layout.h), for all sources at once. Its bags lie
// source after source, in the order of sources_of; its vectors, [bags][dim], are the block in each chunk.
struct PooledCall {
  VectorChunk::Block block;
  TableBatch tables;                  // of the rank's arena; a shard that lies on other ranks has no rows and no ids
  std::vector<std::int64_t> offsets;  // as TableBatch has them; from 0
  std::int64_t first_id = 0;          // of the ids served, call after call
  std::int64_t ids() const { return offsets.back(); }
};

// Which of the fusion's lookups makes the call.
std::size_t part_of(const Fusion& fusion, const PooledCall& call);

// Calls, ids and sizes of one pooled fusion on one rank; what a CPU rank and a GPU both arrange.
//
//   ids asked (exchange of ids) -> ids served, put in the order of the calls -> lookup -> vectors served
//     (reduce_scatter, which leaves the own chunk; all_to_all) -> vectors returned
//   gradients of those (all_to_all; all_gather) -> gradients of the vectors served -> update
//
// Without an exchange ids served, vectors returned and their gradients are those of the own batch. Where sums end in
// the own chunk, what is returned is that chunk of the vectors served, and so with gradients.
struct PooledBuffers {
  Fusion fusion;
  RankRows rows;
  ElementType type = ElementType::fp32;
  std::vector<PooledCall> calls;
  std::int64_t chunk_elements = 0;
  std::int64_t sources = 0;                // chunks of the vectors served
  std::vector<ReturnedVectors> returned;   // of the own batch
  std::int64_t asked = 0, served = 0;      // ids
  std::vector<std::int64_t> order;         // [served] where in the order of the wire the ids of the calls lie
  int id_bytes = 8;                        // on the wire
  std::int64_t served_bytes = 0;           // vectors and partial sums, all chunks
  std::int64_t own_vectors = 0;            // bytes before the own chunk in them
  std::int64_t returned_bytes = 0;         // 0: nothing is returned but the own chunk
  std::int64_t gradient_served_bytes = 0;  // all chunks
  std::int64_t own_gradients = 0;          // bytes before the own chunk in them
  std::int64_t gradient_asked_bytes = 0;   // 0: as with vectors

  // The elements of the dense gradient that each of fusion.reduces sums: buckets fill from the end of the rows, and a
  // single one may be longer than the rows.
  struct Reduced {
    std::int64_t first = 0, count = 0;
  };
  std::vector<Reduced> reduced;
  std::int64_t dense_elements = 0;

  bool exchanges() const { return fusion.ids >= 0; }
  bool returns() const { return returned_bytes > 0; }
  bool asks_gradients() const { return gradient_asked_bytes > 0; }
  bool dense() const;  // some gradients are summed before they are applied
  // One block fills whole chunks: the kernels write and read the buffers of the wire themselves.
  bool direct() const { return calls.size() == 1; }
  std::int64_t largest_call() const;  // elements, of all sources
};

// Errors (Failure::input naming the operation): int8 rows; what fusions_of refuses.
std::vector<PooledBuffers> rank_pooled(const Program& program, const ProgramPlaces& places, int rank);

// The ids of a batch as the wire has them: rows of their shard's piece, not of all that the owner holds. In the order
// of draw_ids.
std::vector<std::int64_t> pooled_ids(const Program& program, const Fusion& fusion, int rank, int batch);

// Vectors returned to the rank or their gradients, between the order of the wire and that of Machine::gathered: shard
// after shard of Fusion::shards, [bags][dim].
std::vector<float> by_shard(const std::vector<ReturnedVectors>& returned, const float* wire);
void to_wire(const std::vector<ReturnedVectors>& returned, const std::vector<float>& values, float* wire);
std::int64_t elements_of(const std::vector<ReturnedVectors>& returned);

}  // namespace shardsim
