#include "sim/lower/draws/iteration_load.h"

#include <algorithm>
#include <numeric>

namespace shardsim {
namespace {

// Device memory, of which GPUs from V100 to B200 have 6 to 9 times the rate of their NVLink ports in one direction and
// 67 to 80 times that of one NIC for each GPU; links to the host are about as fast as NICs (data sheets,
// scenarios/clusters).
constexpr double kOverNvlink = 7, kOverNic = 70, kOverHost = 60;

// How often the bytes of a row pass through memory for each lookup of it: it is read, and so is its gradient; a
// sequence has its vectors written, too. Updates go by different rows, of which an owner has about as many wherever the
// hottest ones lie.
constexpr double kPassesOfBags = 2, kPassesOfSequences = 3;

}  // namespace

OwnerBytes IterationLoad::of(const Placement& placement, const Workload& workload, double lookups) const {
  const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
  const bool sequence = table.kind == TableKind::sequence;
  const double values = lookups * static_cast<double>(placement.columns());
  const double slower = placement.compute_kernel == "fused_uvm" ? kOverHost : 1;
  OwnerBytes bytes;
  bytes.memory =
      values * static_cast<double>(dtype_bytes(table.dtype)) * slower * (sequence ? kPassesOfSequences : kPassesOfBags);
  if (placement.strategy == Strategy::data_parallel || world() < 2) return bytes;
  const auto vectors = [&](Dtype wire) { return sequence ? values * least_wire_bytes(wire) : 0; };
  bytes.asked = lookups * static_cast<double>(workload.id_bytes) + vectors(backward_wire(workload, table));
  bytes.answered = vectors(forward_wire(workload, table));
  return bytes;
}

double IterationLoad::weight_in_node() const {
  return kOverNvlink * (per_node_ - 1) / per_node_;
}

// Belongs to an exchange of all ranks. NVLink carries its share meanwhile.
double IterationLoad::weight_between() const {
  return nodes_ > 1 ? kOverNic * (nodes_ - 1) / nodes_ : weight_in_node();
}

double IterationLoad::worth(const OwnerBytes& bytes, Strategy strategy) const {
  const double weight = strategy == Strategy::flex ? weight_in_node() : weight_between();
  return bytes.memory + weight * (bytes.asked + bytes.answered);
}

OwnedByRank IterationLoad::none() const {
  return {std::vector<double>(static_cast<std::size_t>(world()), 0.0)};
}

// Mean over the ranks of that node.
double IterationLoad::busiest_node(const std::vector<double>& bytes) const {
  double busiest = 0;
  for (auto first = bytes.begin(); first != bytes.end(); first += per_node_)
    busiest = std::max(busiest, std::accumulate(first, first + per_node_, 0.0));
  return busiest / per_node_;
}

// An owner receives by its own NIC. All that it sends to other nodes leaves by the NICs of all who asked, which
// are those of the whole node (PXN).
double IterationLoad::load(const OwnedByRank& bytes) const {
  double load = std::ranges::max(bytes.memory);
  for (const auto& [group, exchange] : bytes.exchanges) {
    const bool within = group.first == Strategy::flex || nodes_ == 1;
    const double answered = within ? std::ranges::max(exchange.answered) : busiest_node(exchange.answered);
    load += (within ? weight_in_node() : weight_between()) * (std::ranges::max(exchange.asked) + answered);
  }
  return load;
}

}  // namespace shardsim
