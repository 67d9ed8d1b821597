#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/collective/byte_matrix.h"
#include "validate/execute/kernels/embedding.h"
#include "validate/execute/wires/wire.h"

namespace shardsim {

// One rank's place in one rank set of a group.
struct GroupSeat {
  std::vector<int> ranks;  // of the set, in group order
  int position = 0;        // of this rank in it
  int ranks_per_node = 1;
  int channel = 0;  // of the wire
};

inline const std::byte* as_bytes(const float* values) {
  return reinterpret_cast<const std::byte*>(values);
}
inline std::byte* as_bytes(float* values) {
  return reinterpret_cast<std::byte*>(values);
}

// Collectives of CPU ranks over a Wire: the schedules that the simulator's `direct` and `ring` stand for (the emulated
// cluster of the validator; docs/validation.md). Every rank of the set calls. Buffers are this rank's.

// Errors: those of the wire. In a set of one, all stays as it is (all_to_all and send_recv copy). In these two nobody
// sends before its receiver has come.

// in: chunks to position 0, 1, ... back to back, as the matrix says; out: chunks from position 0, 1, ... Direct: all at
// once, peers in an order in which every step is a permutation inside one tier.
void all_to_all(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, const std::byte* in, std::byte* out);

// Numbers of one type, one after the other.
struct ElementVector {
  void* values = nullptr;
  std::size_t count = 0;
  ElementType type = ElementType::fp32;

  ElementVector(void* of, std::size_t size, ElementType element) : values(of), count(size), type(element) {}
  ElementVector(float* of, std::size_t size) : values(of), count(size) {}
};

// Ring over the set in group order; each sum of two is rounded to the type. `vector` is replaced by the sum over the
// ranks. `scratch` grows.
void all_reduce(Wire& wire, const GroupSeat& seat, const ElementVector& vector, std::vector<float>& scratch);

// count: of the whole vector, a multiple of the set's size not needed; chunk p is [p * count / n, (p + 1) * count / n).
// reduce_scatter leaves the sum in this position's chunk of the vector; all_gather fills the others' chunks.
void reduce_scatter(Wire& wire, const GroupSeat& seat, const ElementVector& vector, std::vector<float>& scratch);
void all_gather(Wire& wire, const GroupSeat& seat, const ElementVector& vector);

// Each number by `ranks`: what makes a mean of a sum.
void divide(const ElementVector& vector, std::size_t ranks);

// From position 0, around the ring in chunks of `chunk_bytes`.
void broadcast(Wire& wire, const GroupSeat& seat, std::byte* data, std::size_t bytes, std::size_t chunk_bytes = 65536);

// To the next position, from the one before.
void send_recv(Wire& wire, const GroupSeat& seat, const std::byte* in, std::byte* out, std::size_t bytes);

// One step of a direct all-to-all: positions in the group.
struct PeerStep {
  int send_to = 0;
  int receive_from = 0;
  bool operator==(const PeerStep&) const = default;
};

// The other positions in the order in which `position` turns to them. With M nodes of G members each: for dn = 0..M-1,
// for dg = 0..G-1 but (0, 0): send to (node + dn, local + dg), receive from (node - dn, local - dg), modulo M and G.
// Every step is a permutation that stays in one tier, so that no rank is met by several at once. Where nodes hold
// unequal numbers of members: to position + s, from position - s.
std::vector<PeerStep> peer_order(const std::vector<int>& ranks, int position, int ranks_per_node);

}  // namespace shardsim
