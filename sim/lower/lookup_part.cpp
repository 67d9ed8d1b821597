#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/lower/group_member.h"

namespace shardsim {
namespace {

RowMemory memory_of(const GroupMember& member) {
  const std::string& kernel = member.placement->compute_kernel;
  if (replicated(member.placement->strategy) || kernel == "dense" || kernel == "fused") return RowMemory::hbm;
  if (kernel == "fused_uvm_caching") return RowMemory::cached;
  if (kernel == "fused_uvm") return RowMemory::host;
  throw input_error(
      member.table->place,
      "table '" + member.table->name + "' has the compute kernel '" + kernel + "', which is not simulated",
      "Choose dense, fused, fused_uvm or fused_uvm_caching");
}

bool has_dense_gradient(const GroupMember& member) {
  return replicated(member.placement->strategy) || member.placement->compute_kernel == "dense";
}

// dtype, pooling, weighted, memory, dense gradient, table.
using Key = std::tuple<int, std::string, bool, RowMemory, bool, int>;

Key key_of(const GroupMember& member, bool by_dtype, bool by_table) {
  const auto& features = member.table->features;
  const bool weighted = std::any_of(features.begin(), features.end(), [](const Feature& f) { return f.weighted; });
  return {by_dtype ? static_cast<int>(member.table->dtype) : 0,
          member.table->pooling,
          weighted,
          memory_of(member),
          has_dense_gradient(member),
          by_table ? member.placement->table : -1};
}

// Items of one source that each rank of the world serves.
std::vector<double> served(const GroupMember& member, int world) {
  const Placement& placement = *member.placement;
  const auto items = static_cast<double>(member.items.count);
  if (placement.strategy == Strategy::data_parallel) return std::vector<double>(world, items);
  const std::vector<double> shares = member.shares();
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<double> of_rank(world, 0.0);
  for (const std::vector<int>& group : placement.holders) {
    for (std::size_t shard = 0; shard < group.size(); ++shard) of_rank[group[shard]] += items * shares[shard] / all;
  }
  return of_rank;
}

// Shard that the rank holds, -1: none.
int shard_at(const Placement& placement, int rank) {
  if (placement.strategy == Strategy::data_parallel) return 0;
  for (const std::vector<int>& group : placement.holders) {
    const auto found = std::find(group.begin(), group.end(), rank);
    if (found == group.end()) continue;
    return in_rows(placement.strategy) ? static_cast<int>(found - group.begin()) : 0;
  }
  return -1;
}

// What one rank reads and writes for the lookups of one placement (docs/lowering.md, "Bytes in device memory").
struct Amounts {
  double row = 0, state = 0;  // bytes
  double lookups = 0, vectors = 0, touched = 0, missed = 0;
};

// `expanded`: gradients are copied to a row per lookup, added up by row, and the sums read.
void add_memory(LookupPart& part, const Amounts& of, int rank, bool expanded) {
  const double kept = (part.dense_gradient ? of.row : 2 * of.row + 2 * of.state)  // per distinct row
                      + (expanded ? 3 * of.row : 0);
  const double copied = expanded ? of.row * (of.vectors + of.lookups) : 0;
  const bool on_host = part.memory == RowMemory::host;
  part.lookups[rank] += of.lookups;
  part.lookup_bytes[rank] += of.row * of.vectors + (on_host ? 0 : of.row * of.lookups);
  part.lookup_host[rank] += on_host ? of.row * of.lookups : 0;
  part.fetched_bytes[rank] += part.memory == RowMemory::cached ? of.row * of.missed : 0;
  part.gradient_bytes[rank] += copied + of.row * of.lookups + (on_host ? 0 : kept * of.touched);
  part.gradient_host[rank] += on_host ? kept * of.touched : 0;
  part.distinct_rows[rank] += of.touched;
}

// The optimizer's pass over all rows: of the largest shard where they are replicated, so that all ranks do the same.
void add_apply(LookupPart& part, const GroupMember& member, const Amounts& of, int rank) {
  const int shard = replicated(member.placement->strategy) ? 0 : shard_at(*member.placement, rank);
  if (!part.dense_gradient || shard < 0) return;
  const auto rows = static_cast<double>(member.placement->shard_rows(shard));
  part.apply_bytes[rank] += 3.0 * rows * of.row + 2.0 * rows * of.state;
  part.applied_rows[rank] += rows;
}

// Expected different rows of `draws` lookups that a cache of the hottest rows does not hold.
double missed_rows(const GroupMember& member, double draws) {
  const Placement& placement = *member.placement;
  const std::uint64_t first = placement.row_begin + static_cast<std::uint64_t>(placement.cache_load_factor *
                                                                               static_cast<double>(placement.rows()));
  const double all = member.access.sum(placement.row_begin, placement.row_end);
  if (!(all > 0)) return 0;
  const double cold = member.access.sum(first, placement.row_end) / all;
  return member.access.expected_distinct(first, placement.row_end, draws * cold);
}

void add_member(LookupPart& part, const GroupMember& member, const Workload& workload, int sources, int world) {
  const Placement& placement = *member.placement;
  const std::vector<double> each = served(member, world);
  const double draws = static_cast<double>(member.items.count) * sources;
  const double distinct = member.access.expected_distinct(placement.row_begin, placement.row_end, draws);
  const double missed = part.memory == RowMemory::cached ? missed_rows(member, draws) : 0;
  for (int rank = 0; rank < world; ++rank) {
    Amounts of;
    of.row = static_cast<double>(member.row_bytes);
    of.state = static_cast<double>(optimizer_row_bytes(workload.optimizer, placement.columns()));
    of.lookups = each[rank] * sources;
    of.touched = draws > 0 ? distinct * of.lookups / draws : 0;
    of.missed = draws > 0 ? missed * of.lookups / draws : 0;
    const double bags = each[rank] > 0 ? static_cast<double>(member.forward.count) * sources : 0;
    of.vectors = member.pooled() ? bags : of.lookups;
    if (member.pooled()) part.bags[rank] += bags;
    add_memory(part, of, rank, !part.dense_gradient && workload.embedding_kernels == "per_table");
    add_apply(part, member, of, rank);
  }
}

std::vector<std::vector<double>*> columns(LookupPart& part) {
  return {&part.lookups,        &part.bags,          &part.lookup_bytes,  &part.lookup_host, &part.fetched_bytes,
          &part.gradient_bytes, &part.gradient_host, &part.distinct_rows, &part.apply_bytes, &part.applied_rows};
}

void collapse(std::vector<double>& per_rank) {
  if (std::adjacent_find(per_rank.begin(), per_rank.end(), std::not_equal_to<>()) == per_rank.end()) per_rank.resize(1);
}

// Ranks that hold something of the part; none where that is all of them.
std::vector<int> holders_of(const LookupPart& part) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < part.lookups.size(); ++rank) {
    if (part.lookups[rank] > 0 || part.applied_rows[rank] > 0) ranks.push_back(static_cast<int>(rank));
  }
  return ranks.size() == part.lookups.size() ? std::vector<int>{} : ranks;
}

}  // namespace

std::vector<double> LookupPart::of_ranks(const std::vector<double>& of_all) const {
  if (ranks.empty() || of_all.size() == 1) return of_all;
  std::vector<double> of_these;
  for (const int rank : ranks) of_these.push_back(of_all[rank]);
  return of_these;
}

std::vector<LookupPart> lookup_parts(const std::vector<GroupMember>& members, const Workload& workload, int group_size,
                                     int world, bool by_dtype) {
  std::vector<LookupPart> parts;
  std::map<Key, std::size_t> known;
  const bool by_table = workload.embedding_kernels == "per_table";
  for (const GroupMember& member : members) {
    const auto [entry, added] = known.try_emplace(key_of(member, by_dtype, by_table), parts.size());
    if (added) {
      parts.emplace_back();
      parts.back().memory = memory_of(member);
      parts.back().dense_gradient = has_dense_gradient(member);
      for (auto* column : columns(parts.back())) column->assign(world, 0.0);
    }
    LookupPart& part = parts[entry->second];
    part.shards.push_back(member.shard);
    add_member(part, member, workload, group_size, world);
  }
  for (LookupPart& part : parts) {
    if (by_table) part.ranks = holders_of(part);
    if (part.ranks.empty()) {
      for (auto* column : columns(part)) collapse(*column);
    }
  }
  return parts;
}

}  // namespace shardsim
