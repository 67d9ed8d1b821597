#include "validate/execute/wires/cpu_collectives.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "validate/execute/kernels/element.h"

namespace shardsim {
namespace {

// [node][local index] -> position, nodes in the order in which the group first names them.
using Layout = std::vector<std::vector<int>>;

Layout layout_of(const std::vector<int>& ranks, int ranks_per_node) {
  std::vector<int> nodes;
  Layout layout;
  for (std::size_t position = 0; position < ranks.size(); ++position) {
    const int node = ranks[position] / ranks_per_node;
    const auto found = std::ranges::find(nodes, node);
    const std::size_t index = static_cast<std::size_t>(found - nodes.begin());
    if (found == nodes.end()) {
      nodes.push_back(node);
      layout.emplace_back();
    }
    layout[index].push_back(static_cast<int>(position));
  }
  return layout;
}

bool even(const Layout& layout) {
  return std::ranges::all_of(layout, [&](const auto& node) { return node.size() == layout.front().size(); });
}

std::vector<PeerStep> rotation(int members, int position) {
  std::vector<PeerStep> steps;
  for (int s = 1; s < members; ++s) steps.push_back({(position + s) % members, (position - s + members) % members});
  return steps;
}

std::vector<PeerStep> by_tiers(const Layout& layout, int node, int local) {
  const int nodes = static_cast<int>(layout.size()), locals = static_cast<int>(layout.front().size());
  std::vector<PeerStep> steps;
  for (int dn = 0; dn < nodes; ++dn)
    for (int dg = dn == 0 ? 1 : 0; dg < locals; ++dg)
      steps.push_back({layout[(node + dn) % nodes][(local + dg) % locals],
                       layout[(node - dn + nodes) % nodes][(local - dg + locals) % locals]});
  return steps;
}

}  // namespace

std::vector<PeerStep> peer_order(const std::vector<int>& ranks, int position, int ranks_per_node) {
  const Layout layout = layout_of(ranks, ranks_per_node);
  for (std::size_t node = 0; node < layout.size() && even(layout); ++node)
    for (std::size_t local = 0; local < layout[node].size(); ++local)
      if (layout[node][local] == position) return by_tiers(layout, static_cast<int>(node), static_cast<int>(local));
  return rotation(static_cast<int>(ranks.size()), position);
}

namespace {

// Returns where each position's chunk begins, and the end of the last.
std::vector<std::size_t> offsets_of(int members, const auto& bytes_of) {
  std::vector<std::size_t> offsets(static_cast<std::size_t>(members) + 1, 0);
  for (int p = 0; p < members; ++p) offsets[p + 1] = offsets[p] + static_cast<std::size_t>(bytes_of(p));
  return offsets;
}

void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

// A vector in one chunk per member, and the neighbours that they travel between.
struct Ring {
  const GroupSeat& seat;
  ElementVector vector;

  int members() const { return static_cast<int>(seat.ranks.size()); }
  int next() const { return seat.ranks[(seat.position + 1) % members()]; }
  int previous() const { return seat.ranks[(seat.position + members() - 1) % members()]; }
  // The chunk `back` places before this rank's own.
  int chunk_before(int back) const { return ((seat.position - back) % members() + members()) % members(); }
  std::size_t begin(int chunk) const { return static_cast<std::size_t>(chunk) * vector.count / seat.ranks.size(); }
  std::size_t size(int chunk) const { return begin(chunk + 1) - begin(chunk); }
  std::size_t element() const { return static_cast<std::size_t>(element_bytes(vector.type)); }
  std::byte* at(int chunk) const { return static_cast<std::byte*>(vector.values) + begin(chunk) * element(); }
};

// One step: a chunk to the next rank while another comes from the one before.
void pass_on(Wire& wire, const Ring& ring, int sent, std::byte* into, int received) {
  const Sending sending{ring.next(), ring.at(sent), ring.size(sent) * ring.element()};
  const Receiving receiving{ring.previous(), into, ring.size(received) * ring.element()};
  wire.exchange(ring.seat.channel, {&sending, 1}, {&receiving, 1});
}

// `visit` with the elements in their own type.
template <typename Visit>
void in_its_type(ElementType type, void* values, const Visit& visit) {
  if (type == ElementType::fp32) return visit(static_cast<float*>(values));
  if (type == ElementType::fp16) return visit(static_cast<Half*>(values));
  visit(static_cast<Brain*>(values));
}

void add(ElementType type, void* sums, const void* more, std::size_t count) {
  in_its_type(type, sums, [&](auto* to) {
    using Element = std::remove_pointer_t<decltype(to)>;
    const auto* const from = static_cast<const Element*>(more);
    for (std::size_t i = 0; i < count; ++i) to[i] = narrowed<Element>(widened(to[i]) + widened(from[i]));
  });
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
  wire.exchange_when_met(seat.channel, sends, receives);
}

void all_reduce(Wire& wire, const GroupSeat& seat, const ElementVector& vector, std::vector<float>& scratch) {
  reduce_scatter(wire, seat, vector, scratch);
  all_gather(wire, seat, vector);
}

// A chunk starts at the position after its own, goes once around and gathers every rank's part on the way.
void reduce_scatter(Wire& wire, const GroupSeat& seat, const ElementVector& vector, std::vector<float>& scratch) {
  const Ring ring{seat, vector};
  for (int step = 0; step < ring.members() - 1; ++step) {
    const int sent = ring.chunk_before(step + 1), received = ring.chunk_before(step + 2);
    if (scratch.size() < ring.size(received)) scratch.resize(ring.size(received));
    pass_on(wire, ring, sent, as_bytes(scratch.data()), received);
    add(vector.type, ring.at(received), scratch.data(), ring.size(received));
  }
}

void all_gather(Wire& wire, const GroupSeat& seat, const ElementVector& vector) {
  const Ring ring{seat, vector};
  for (int step = 0; step < ring.members() - 1; ++step) {
    const int sent = ring.chunk_before(step), received = ring.chunk_before(step + 1);
    pass_on(wire, ring, sent, ring.at(received), received);
  }
}

void divide(const ElementVector& vector, std::size_t ranks) {
  const auto by = static_cast<float>(ranks);
  in_its_type(vector.type, vector.values, [&](auto* values) {
    using Element = std::remove_pointer_t<decltype(values)>;
    for (std::size_t i = 0; i < vector.count; ++i) values[i] = narrowed<Element>(widened(values[i]) / by);
  });
}

// In step k every rank but the last hands on chunk k - 1 while it takes chunk k; position 0 has all from the start.
void broadcast(Wire& wire, const GroupSeat& seat, std::byte* data, std::size_t bytes, std::size_t chunk_bytes) {
  const Ring ring{seat, {nullptr, 0}};
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
  const Ring ring{seat, {nullptr, 0}};
  if (ring.members() == 1) return copy_bytes(in, out, bytes);
  const Sending sending{ring.next(), in, bytes};
  const Receiving receiving{ring.previous(), out, bytes};
  wire.exchange_when_met(seat.channel, {&sending, 1}, {&receiving, 1});
}

}  // namespace shardsim
