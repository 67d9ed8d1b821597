#include "sim/lower/row_traffic.h"

#include <cmath>

namespace shardsim {
namespace {

// HugeCTR, a lookup: a kernel reads the key (4 bytes) and writes where its row lies (8), the next one reads that
// (NVIDIA-Merlin/HugeCTR at v23.08, embedding_storage/ragged_static_embedding.cu, embedding/operators).
constexpr double kPointerBytes = 20;

// Gradients of vectors are read once a lookup and summed by row; the update reads the sums. Those of replicated rows
// are sums already when they are applied.
void add_hugectr(LookupPart& part, const RowTraffic& of, int rank) {
  part.lookup_bytes.hbm[rank] += of.row * of.lookups + of.forward * of.vectors + kPointerBytes * of.lookups;
  const double kept = of.summed + (part.dense_gradient ? 0 : of.summed + 2 * of.row + 2 * of.state);
  part.gradient_bytes.hbm[rank] += of.backward * of.lookups + kept * of.touched;
  part.hugectr.row_bytes[rank] += of.row * of.lookups;
  part.hugectr.vector_bytes[rank] += of.forward * of.vectors;
  part.hugectr.gradient_bytes[rank] += of.backward * of.vectors;
}

// HugeCTR's hybrid embedding: a lookup reads a row and writes a vector in the type of the wire; a gradient is added to
// its row by atomics, or to the row's sum where the row is replicated, which is as wide
// (embeddings/hybrid_embedding/frequent_embedding.cu and infrequent_embedding.cu at 02188f45).
void add_in_place(LookupPart& part, const RowTraffic& of, int rank) {
  part.lookup_bytes.hbm[rank] += (of.row + of.forward) * of.lookups;
  part.gradient_bytes.hbm[rank] += (2 * of.row + of.backward) * of.lookups;
  part.hugectr.row_bytes[rank] += of.row * of.lookups;
  part.hugectr.vector_bytes[rank] += of.forward * of.lookups;
  part.hugectr.gradient_bytes[rank] += of.backward * of.lookups;
}

// FBGEMM (embedding_backward_split_indice_weights_template.cu): a bag's gradient is read once, and the row of each of
// its ids, whose product is that of the weight. Weights are fp32.
void add_weights(LookupPart& part, const RowTraffic& of, int rank, double on_host) {
  constexpr double kWeight = 4;
  part.weight_lookups[rank] += of.weighted * of.lookups;
  part.weight_bytes.hbm[rank] +=
      of.weighted * (of.row * of.vectors + kWeight * of.lookups + (1 - on_host) * (of.row * of.lookups));
  part.weight_bytes.host[rank] += of.weighted * on_host * (of.row * of.lookups);
}

// A read from an SSD takes whole blocks of RocksDB's default size. Rows are written one behind the other.
void add_stored(LookupPart& part, const RowTraffic& of, int rank) {
  part.stored.bytes[rank] += of.cached_row * of.stored;
  part.stored.ssd_reads[rank] += std::ceil(of.cached_row / kStoreBlock) * of.on_ssd;
  part.stored.ssd_bytes[rank] += of.cached_row * of.on_ssd;
}

// `expanded`: gradients are copied to a row per lookup, added up by row, and the sums read.
void add_fused(LookupPart& part, const RowTraffic& of, int rank, bool expanded) {
  const double kept = (part.dense_gradient ? of.row : 2 * of.row + 2 * of.state)  // per distinct row
                      + (expanded ? 3 * of.row : 0);
  const double copied = expanded ? of.row * (of.vectors + of.lookups) : 0;
  const bool all_on_host = part.memory == RowMemory::host;
  const double on_host = all_on_host ? 1 : of.uncached, rows_on_host = all_on_host ? 1 : of.uncached_rows;
  part.lookup_bytes.hbm[rank] += of.row * of.vectors + (1 - on_host) * (of.row * of.lookups);
  part.lookup_bytes.host[rank] += on_host * (of.row * of.lookups);
  part.fetched_bytes[rank] += part.memory == RowMemory::cached ? of.cached_row * of.missed : 0;
  part.gradient_bytes.hbm[rank] += copied + of.row * of.lookups + (1 - rows_on_host) * (kept * of.touched);
  part.gradient_bytes.host[rank] += rows_on_host * (kept * of.touched);
  if (!expanded && of.weighted > 0) add_weights(part, of, rank, on_host);
  add_stored(part, of, rank);
}

}  // namespace

RowKernels row_kernels_of(const Workload& workload) {
  if (workload.hugectr_kernels()) return RowKernels::hugectr;
  if (workload.hugectr_hybrid()) return RowKernels::in_place;
  return workload.embedding_kernels == "per_table" ? RowKernels::per_table : RowKernels::fused;
}

void add_traffic(LookupPart& part, const RowTraffic& of, int rank, RowKernels kernels) {
  part.lookups[rank] += of.lookups;
  part.distinct_rows[rank] += of.touched;
  part.more_rows[rank] += of.touched_by_more;
  if (kernels == RowKernels::hugectr) return add_hugectr(part, of, rank);
  if (kernels == RowKernels::in_place) return add_in_place(part, of, rank);
  add_fused(part, of, rank, kernels == RowKernels::per_table && !part.dense_gradient);
}

void add_apply(LookupPart& part, const RowTraffic& of, int rank, double rows, bool dense_gradient, RowKernels kernels) {
  const double gradients = dense_gradient ? rows : of.touched;
  part.applied.rows[rank] += rows;
  part.applied.held_bytes[rank] += of.row * rows;
  if (kernels == RowKernels::hugectr) {
    part.gradient_bytes.hbm[rank] += dense_gradient ? of.summed * rows : 0;  // set to 0 first
    part.applied.bytes[rank] += of.summed * gradients + (2 * of.row + 2 * of.state) * rows;
  } else if (kernels == RowKernels::in_place) {
    part.gradient_bytes.hbm[rank] +=
        (2 * of.row + of.summed) * rows;  // set to 0 first, and put into the type of the wire
    part.applied.bytes[rank] += (of.summed + 2 * of.row) * rows;
  } else {
    part.applied.bytes[rank] += of.row * gradients + 2.0 * rows * of.row + 2.0 * rows * of.state;
  }
}

}  // namespace shardsim
