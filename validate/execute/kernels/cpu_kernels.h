#pragma once

#include <cstdint>
#include <span>

#include "models/workload/workload.h"
#include "validate/execute/kernels/embedding.h"

namespace shardsim {

// The CPU twins of the CUDA kernels; `threads` threads each. Indices outside their table throw std::out_of_range.

// out[b][sum of dims]: per bag and table the sum of its rows; an empty bag gives zeros.
void pooled_lookup(const TableBatch& tables, const void* arena, std::span<const std::int64_t> indices,
                   std::span<const std::int64_t> offsets, float* out, int threads);

// out[n][dim] in the arena's element type: row indices[n] of the one table, as sequence embeddings have it.
void gather_rows(ElementType type, std::int64_t rows, std::int64_t dim, const void* arena,
                 std::span<const std::int64_t> indices, void* out, int threads);

// Exact update after gather_rows: gradients of equal indices are summed in order of position, then each touched row is
// updated once. `state`: of the table, see state_elements. With summing_settings() they are added to what the rows
// have.
void update_rows(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                 std::span<const std::int64_t> indices, const float* gradients, const OptimizerSettings& settings,
                 int threads);

// The same after pooled_lookup: the gradient of bag b is gradients[b][sum of dims], for every index of the bag.
// `state`: those of the tables one after the other.
void update_pooled(const TableBatch& tables, void* arena, float* state, std::span<const std::int64_t> indices,
                   std::span<const std::int64_t> offsets, const float* gradients, const OptimizerSettings& settings,
                   int threads);

// Every row updated with its dense gradient, as replicated rows are after their all-reduce.
void update_dense(ElementType type, std::int64_t rows, std::int64_t dim, void* arena, float* state,
                  const float* gradients, const OptimizerSettings& settings, int threads);

// Codecs of wires: `count` numbers from a type of the memory into one of the wire (fp32, fp16, bf16 or fp8), rounded to
// the nearest, and back. Errors (Failure::run): another type of the wire.
void encode_elements(ElementType type, const void* from, std::int64_t count, Dtype wire, void* to, int threads);
void decode_elements(Dtype wire, const void* from, std::int64_t count, ElementType type, void* to, int threads);

// c[m][n] = a[m][k] b[k][n], fp32, rows one after the other: what stands for dense layers on a CPU rank. Blocked for
// the caches and for vector registers; every element is summed in the order of k, so threads and processors do not
// change its bits.
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, int threads);

}  // namespace shardsim
