#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "models/collective/collective.h"

namespace shardsim {

// The files beside this one define these.
CollectiveExpander expand_direct, expand_nccl, expand_ring, expand_tree, expand_two_level;
CollectiveLoads expand_kept_nccl(const CollectiveCall& call, const Cluster& cluster, KeptSchedules* kept);

namespace {

bool is_collected(CollectiveKind kind) {
  return !is_peer_to_peer(kind);
}

bool is_all_reduce(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce;
}

constexpr std::array<CollectiveEntry, 5> kAlgorithms{{
    {"direct", "all pairs of ranks at once, each over its own route (all_to_all, send_recv)", is_peer_to_peer,
     expand_direct},
    {"nccl", "what NCCL's own cost model chooses: ring, tree, NVLS (all_reduce, reduce_scatter, all_gather, broadcast)",
     is_collected, expand_nccl},
    {"ring", "rings through all ranks, one per NIC (all_reduce, reduce_scatter, all_gather, broadcast)", is_collected,
     expand_ring},
    {"tree", "double binary tree over the nodes, chains inside them (all_reduce)", is_all_reduce, expand_tree},
    {"two_level", "rings inside the nodes and across them, pipelined (all_reduce)", is_all_reduce, expand_two_level},
}};

Place kind_place(CollectiveKind kind) {
  return {std::string(collective_kind_name(kind)), 0, 0};
}

bool fits_group(const ByteMatrix& matrix, std::size_t members) {
  if (matrix.kind == ByteMatrix::Kind::even) return matrix.units.size() == 1;
  if (matrix.kind != ByteMatrix::Kind::dense) return matrix.units.size() == members;
  return matrix.dense.size() == members &&
         std::all_of(matrix.dense.begin(), matrix.dense.end(), [&](const auto& row) { return row.size() == members; });
}

bool has_negative(const ByteMatrix& matrix) {
  const auto negative = [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](auto u) { return u < 0; });
  };
  return matrix.unit_bytes < 0 || negative(matrix.units) ||
         std::any_of(matrix.dense.begin(), matrix.dense.end(), negative);
}

// Above every entry added up, the own chunks included.
double total_bytes(const ByteMatrix& matrix, std::size_t members) {
  double units = 0;
  for (auto u : matrix.units) units += static_cast<double>(u);
  if (matrix.kind != ByteMatrix::Kind::dense) units *= static_cast<double>(members);
  for (const auto& row : matrix.dense)
    for (auto u : row) units += static_cast<double>(u);
  return units * static_cast<double>(matrix.unit_bytes);
}

void check_payload(const CollectiveCall& call) {
  if (call.kind != CollectiveKind::all_to_all) {
    if (call.bytes < 0) throw input_error(kind_place(call.kind), "the buffer is below 0 bytes", "Give 0 or more.");
    return;
  }
  if (!call.matrix || !fits_group(*call.matrix, call.ranks.size()))
    throw input_error(kind_place(call.kind), "the byte matrix does not have the size of the group",
                      "Give one entry per member (" + std::to_string(call.ranks.size()) + ").");
  if (has_negative(*call.matrix))
    throw input_error(kind_place(call.kind), "the byte matrix has an entry below 0", "Give 0 or more.");
  if (total_bytes(*call.matrix, call.ranks.size()) > kMostExactBytes)
    throw input_error(kind_place(call.kind), "the byte matrix adds up to more than 2^53 bytes",
                      "Check its unit and entries.");
}

// A lone member has nothing to send.
CollectiveLoads expanded(const CollectiveEntry& entry, const CollectiveCall& call, const Cluster& cluster) {
  if (call.ranks.size() < 2) return {{}, {}, is_collected(call.kind), std::string(entry.name), {}};
  return entry.expand(call, cluster);
}

bool chosen_by_nccl(const CollectiveCall& call, const Cluster& cluster) {
  return cluster.spec().device != "cpu" && is_collected(call.kind) &&
         !timed_by_loads(call_shape(call, cluster), cluster);
}

// CPU ranks run what the executor has (validate/execute/wires/cpu_collectives.h).
bool has_schedule(const CollectiveEntry& entry, const Cluster& cluster) {
  if (cluster.spec().device == "cpu") return entry.expand == expand_direct || entry.expand == expand_ring;
  return entry.expand != expand_nccl;
}

// The loads of the fastest algorithm among those that are timed by their loads.
CollectiveLoads fastest(const CollectiveCall& call, const Cluster& cluster) {
  CollectiveLoads best;
  Seconds shortest{-1};
  for (const CollectiveEntry& entry : kAlgorithms) {
    if (!has_schedule(entry, cluster) || !entry.supports(call.kind)) continue;
    CollectiveLoads loads = expanded(entry, call, cluster);
    const Seconds alone = loads.alone(cluster);
    if (shortest.value >= 0 && alone >= shortest) continue;
    shortest = alone;
    best = std::move(loads);
  }
  return best;
}

std::vector<std::string> names_for(CollectiveKind kind) {
  std::vector<std::string> names;
  for (const CollectiveEntry& entry : kAlgorithms)
    if (entry.supports(kind)) names.emplace_back(entry.name);
  return names;
}

const CollectiveEntry& entry_named(std::string_view name) {
  std::vector<std::string> known{"auto"};
  for (const CollectiveEntry& entry : kAlgorithms) {
    if (entry.name == name) return entry;
    known.emplace_back(entry.name);
  }
  throw input_error({"collective algorithm", 0, 0}, "there is no algorithm '" + std::string(name) + "'",
                    known_names_hint(name, known));
}

}  // namespace

void check_group(CollectiveKind kind, const std::vector<int>& members, const Cluster& cluster) {
  std::vector<int> ranks = members;
  std::sort(ranks.begin(), ranks.end());
  const auto twice = std::adjacent_find(ranks.begin(), ranks.end());
  if (twice != ranks.end())
    throw input_error(kind_place(kind), "rank " + std::to_string(*twice) + " is in the group twice",
                      "Name each member once.");
  if (ranks.empty()) return;
  const int wrong = ranks.front() < 0 ? ranks.front() : ranks.back();
  if (wrong < 0 || wrong >= cluster.world_size())
    throw input_error(kind_place(kind), "rank " + std::to_string(wrong) + " is not in the cluster",
                      "Use ranks from 0 to " + std::to_string(cluster.world_size() - 1) + ".");
}

std::span<const CollectiveEntry> collective_algorithms() {
  return kAlgorithms;
}

CollectiveLoads expand_collective(const CollectiveCall& call, const Cluster& cluster, std::string_view algorithm) {
  check_group(call.kind, call.ranks, cluster);
  check_payload(call);
  if (algorithm == "auto" && !chosen_by_nccl(call, cluster)) return fastest(call, cluster);
  const CollectiveEntry& chosen = entry_named(algorithm == "auto" ? "nccl" : algorithm);
  if (!chosen.supports(call.kind))
    throw input_error({"collective algorithm", 0, 0},
                      "'" + std::string(algorithm) + "' cannot do " + std::string(collective_kind_name(call.kind)),
                      "Use auto, or one of: " + join(names_for(call.kind)) + ".");
  return expanded(chosen, call, cluster);
}

CollectiveLoads expand_collective(const CollectiveCall& call, const Cluster& cluster, KeptSchedules& kept) {
  if (call.ranks.size() < 2 || !chosen_by_nccl(call, cluster)) return expand_collective(call, cluster, "auto");
  check_group(call.kind, call.ranks, cluster);
  check_payload(call);
  return expand_kept_nccl(call, cluster, &kept);
}

}  // namespace shardsim
