#include "validate/execute/wires/cpu_collectives.h"

#include <algorithm>
#include <cstring>

#include "validate/execute/meet/peer_order.h"

namespace shardsim {
namespace {

// Where each position's chunk begins, and the end of the last.
std::vector<std::size_t> offsets_of(int members, const auto& bytes_of) {
  std::vector<std::size_t> offsets(static_cast<std::size_t>(members) + 1, 0);
  for (int p = 0; p < members; ++p) offsets[p + 1] = offsets[p] + static_cast<std::size_t>(bytes_of(p));
  return offsets;
}

void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

// A vector of `count` in one chunk per member, and the neighbours that they travel between.
struct Ring {
  const GroupSeat& seat;
  std::size_t count = 0;

  int members() const { return static_cast<int>(seat.ranks.size()); }
  int next() const { return seat.ranks[(seat.position + 1) % members()]; }
  int previous() const { return seat.ranks[(seat.position + members() - 1) % members()]; }
  // The chunk `back` places before this rank's own.
  int chunk_before(int back) const { return ((seat.position - back) % members() + members()) % members(); }
  std::size_t begin(int chunk) const { return static_cast<std::size_t>(chunk) * count / seat.ranks.size(); }
  std::size_t size(int chunk) const { return begin(chunk + 1) - begin(chunk); }
};

// One step: a chunk to the next rank while another comes from the one before.
void pass_on(Wire& wire, const Ring& ring, const float* values, int sent, float* into, int received) {
  const Sending sending{ring.next(), as_bytes(values + ring.begin(sent)), ring.size(sent) * sizeof(float)};
  const Receiving receiving{ring.previous(), as_bytes(into), ring.size(received) * sizeof(float)};
  wire.exchange(ring.seat.channel, {&sending, 1}, {&receiving, 1});
}

}  // namespace

void all_to_all(Wire& wire, const GroupSeat& seat, const ByteMatrix& matrix, const std::byte* in, std::byte* out) {
  const int members = static_cast<int>(seat.ranks.size()), own = seat.position;
  const auto from = offsets_of(members, [&](int p) { return matrix.bytes_between(own, p, members); });
  const auto to = offsets_of(members, [&](int p) { return matrix.bytes_between(p, own, members); });
  std::vector<Sending> sends;
  std::vector<Receiving> receives;
  for (const PeerStep& step : peer_order(seat.ranks, own, seat.ranks_per_node)) {
    const int s = step.send_to, r = step.receive_from;
    sends.push_back({seat.ranks[s], in + from[s], from[s + 1] - from[s]});
    receives.push_back({seat.ranks[r], out + to[r], to[r + 1] - to[r]});
  }
  copy_bytes(in + from[own], out + to[own], to[own + 1] - to[own]);
  wire.exchange(seat.channel, sends, receives);
}

void all_reduce(Wire& wire, const GroupSeat& seat, float* values, std::size_t count, std::vector<float>& scratch) {
  reduce_scatter(wire, seat, values, count, scratch);
  all_gather(wire, seat, values, count);
}

// A chunk starts at the position after its own, goes once around and gathers every rank's part on the way.
void reduce_scatter(Wire& wire, const GroupSeat& seat, float* values, std::size_t count, std::vector<float>& scratch) {
  const Ring ring{seat, count};
  for (int step = 0; step < ring.members() - 1; ++step) {
    const int sent = ring.chunk_before(step + 1), received = ring.chunk_before(step + 2);
    if (scratch.size() < ring.size(received)) scratch.resize(ring.size(received));
    pass_on(wire, ring, values, sent, scratch.data(), received);
    float* const sum = values + ring.begin(received);
    for (std::size_t i = 0; i < ring.size(received); ++i) sum[i] += scratch[i];
  }
}

void all_gather(Wire& wire, const GroupSeat& seat, float* values, std::size_t count) {
  const Ring ring{seat, count};
  for (int step = 0; step < ring.members() - 1; ++step) {
    const int sent = ring.chunk_before(step), received = ring.chunk_before(step + 1);
    pass_on(wire, ring, values, sent, values + ring.begin(received), received);
  }
}

// In step k every rank but the last hands on chunk k - 1 while it takes chunk k; position 0 has all from the start.
void broadcast(Wire& wire, const GroupSeat& seat, std::byte* data, std::size_t bytes, std::size_t chunk_bytes) {
  const Ring ring{seat, 0};
  const bool first = seat.position == 0, last = seat.position == ring.members() - 1;
  const std::size_t chunks = (bytes + chunk_bytes - 1) / chunk_bytes;
  const auto size = [&](std::size_t chunk) { return std::min(chunk_bytes, bytes - chunk * chunk_bytes); };
  for (std::size_t step = 0; step <= chunks; ++step) {
    std::vector<Sending> sends;
    std::vector<Receiving> receives;
    if (step > 0 && !last) sends.push_back({ring.next(), data + (step - 1) * chunk_bytes, size(step - 1)});
    if (step < chunks && !first) receives.push_back({ring.previous(), data + step * chunk_bytes, size(step)});
    wire.exchange(seat.channel, sends, receives);
  }
}

void send_recv(Wire& wire, const GroupSeat& seat, const std::byte* in, std::byte* out, std::size_t bytes) {
  const Ring ring{seat, 0};
  if (ring.members() == 1) return copy_bytes(in, out, bytes);
  const Sending sending{ring.next(), in, bytes};
  const Receiving receiving{ring.previous(), out, bytes};
  wire.exchange(seat.channel, {&sending, 1}, {&receiving, 1});
}

}  // namespace shardsim
