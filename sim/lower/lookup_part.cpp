#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/lower/group_member.h"
#include "sim/lower/known_shares.h"

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

// Lookups of each row shard of one set of holders, for all whom it serves.
std::vector<double> lookups_of_shards(const GroupMember& member, int sources) {
  if (member.placement->strategy == Strategy::data_parallel) return {static_cast<double>(member.items.count)};
  std::vector<double> lookups = member.shares();
  if (member.uneven) {
    const IdCounts counts = counts_of(member, member.items.count, sources);
    for (std::size_t i = 0; i < lookups.size(); ++i) {
      lookups[i] = static_cast<double>(counts.received(static_cast<int>(i)));
    }
    return lookups;
  }
  const double all = std::accumulate(lookups.begin(), lookups.end(), 0.0);
  for (double& each : lookups) each = static_cast<double>(member.items.count) * each / all * sources;
  return lookups;
}

// Rows that the optimizer passes over where it passes over all: those of the largest shard where they are replicated,
// so that all ranks do the same.
double applied_rows(const Placement& placement, std::size_t shard) {
  const bool own = in_rows(placement.strategy) && !replicated(placement.strategy);
  return static_cast<double>(placement.shard_rows(own ? static_cast<int>(shard) : 0));
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

void add_apply(LookupPart& part, const Amounts& of, int rank, double rows) {
  part.apply_bytes[rank] += 3.0 * rows * of.row + 2.0 * rows * of.state;
  part.applied_rows[rank] += rows;
}

// Of a table whose bags follow from their first id: all rows as one owner has them.
RowShares one_owner(const GroupMember& member) {
  const std::uint64_t rows = member.placement->rows();
  const RowOwners owners(rows, 1, RowOrder::popularity, RowCut::blocks, {});
  return {RowLaw(member.access, 0, rows), owners, first_id_bags(*member.table, {member.table->name, 1, 0})};
}

bool follows_first_id(const GroupMember& member) {
  return member.table->bag_ids == BagIds::first_id;
}

// Expected different rows of `draws` lookups.
double touched_rows(const GroupMember& member, double draws) {
  if (follows_first_id(member)) return one_owner(member).distinct(draws).front();
  return member.access.expected_distinct(member.placement->row_begin, member.placement->row_end, draws);
}

// Expected different rows of `draws` lookups that a cache of the hottest rows does not hold.
double missed_rows(const GroupMember& member, double draws) {
  const Placement& placement = *member.placement;
  if (follows_first_id(member)) return one_owner(member).misses(draws, placement.cache_load_factor).front();
  const std::uint64_t first = placement.row_begin + static_cast<std::uint64_t>(placement.cache_load_factor *
                                                                               static_cast<double>(placement.rows()));
  const double all = member.access.sum(placement.row_begin, placement.row_end);
  if (!(all > 0)) return 0;
  const double cold = member.access.sum(first, placement.row_end) / all;
  return member.access.expected_distinct(first, placement.row_end, draws * cold);
}

// `of_all` rows, to each row shard in proportion to its lookups.
std::vector<double> in_proportion(double of_all, const std::vector<double>& lookups, double draws) {
  std::vector<double> rows(lookups.size(), 0.0);
  if (draws > 0) std::ranges::transform(lookups, rows.begin(), [&](double each) { return of_all * each / draws; });
  return rows;
}

// Different rows that each row shard reads in `lookups` of its own, `draws` in all, and those that its cache misses; in
// expectation.
DrawnRows::Rows rows_of_shards(const GroupMember& member, const std::vector<double>& lookups, double draws,
                               bool cached) {
  const Placement& placement = *member.placement;
  if (member.uneven) {
    std::vector<double> touched = member.uneven->distinct(draws);
    const std::vector<double> none(touched.size(), 0.0);
    return {std::move(touched), cached ? member.uneven->misses(draws, placement.cache_load_factor) : none};
  }
  return {in_proportion(touched_rows(member, draws), lookups, draws),
          in_proportion(cached ? missed_rows(member, draws) : 0, lookups, draws)};
}

// What the row shards of one set of holders do in an iteration, all whom they serve together.
struct ShardAmounts {
  std::vector<double> lookups;  // [row shard]
  DrawnRows::Rows rows;
};

ShardAmounts shard_amounts(const GroupMember& member, int sources, bool cached) {
  const double draws = static_cast<double>(member.items.count) * sources;
  std::vector<double> lookups = lookups_of_shards(member, sources);
  DrawnRows::Rows rows = rows_of_shards(member, lookups, draws, cached);
  return {std::move(lookups), std::move(rows)};
}

// The same of a drawn batch. `sources`: ranks of the world that the set serves.
ShardAmounts drawn_amounts(const GroupMember& member, const std::vector<int>& sources, bool cached) {
  const CellCounts& ids = member.drawn->ids;
  ShardAmounts amounts{std::vector<double>(ids.cells, 0.0), {}};
  for (std::size_t shard = 0; shard < ids.cells; ++shard) {
    double& lookups = amounts.lookups[shard];
    for (const int source : sources) lookups += static_cast<double>(ids.at(source, shard));
    amounts.rows.touched.push_back(member.drawn->rows->touched(shard, lookups));
    amounts.rows.missed.push_back(cached ? member.drawn->rows->missed(shard, lookups) : 0);
  }
  return amounts;
}

// Whether the row shard may have lookups. Of a drawn batch one with rows may, whatever was drawn.
bool may_look_up(const GroupMember& member, const ShardAmounts& amounts, std::size_t shard) {
  if (member.drawn == nullptr) return amounts.lookups[shard] > 0;
  return member.placement->strategy == Strategy::data_parallel || member.shares()[shard] > 0;
}

// Whether the row shard writes a vector for every bag: one with rows does, also where no id falls to it.
bool writes_bags(const GroupMember& member, const ShardAmounts& amounts, std::size_t shard) {
  const bool rows = member.uneven && member.items.count > 0 && member.uneven->rows_of(static_cast<int>(shard)) > 0;
  return rows || may_look_up(member, amounts, shard);
}

// The row shards of one placement on the ranks that hold them.
class MemberAdder {
 public:
  MemberAdder(LookupPart& part, const GroupMember& member, const Workload& workload, int sources)
      : part_(part),
        member_(member),
        sources_(sources),
        bags_(static_cast<double>(member.forward.count) * sources),
        state_(static_cast<double>(optimizer_row_bytes(workload.optimizer, member.placement->columns()))),
        expanded_(!part.dense_gradient && workload.embedding_kernels == "per_table") {}

  void add_all(int world) {
    const Placement& placement = *member_.placement;
    const bool own = placement.strategy == Strategy::data_parallel;
    if (member_.drawn == nullptr) amounts_ = shard_amounts(member_, sources_, cached());
    for (int rank = 0; own && rank < world; ++rank) {
      if (member_.drawn != nullptr) amounts_ = drawn_amounts(member_, {rank}, cached());
      add(rank, 0);
    }
    if (own) return;
    for (const std::vector<int>& group : placement.holders) {
      const bool flex = placement.strategy == Strategy::flex;
      if (member_.drawn != nullptr) amounts_ = drawn_amounts(member_, flex ? group : all_ranks(world), cached());
      for (std::size_t shard = 0; shard < group.size(); ++shard) add(group[shard], shard);
    }
  }

 private:
  bool cached() const { return part_.memory == RowMemory::cached; }

  void add(int rank, std::size_t shard) {
    Amounts of{static_cast<double>(member_.row_bytes),
               state_,
               amounts_.lookups[shard],
               amounts_.lookups[shard],
               amounts_.rows.touched[shard],
               amounts_.rows.missed[shard]};
    part_.asked[rank] = part_.asked[rank] || may_look_up(member_, amounts_, shard);
    if (member_.pooled()) {
      of.vectors = writes_bags(member_, amounts_, shard) ? bags_ : 0;
      part_.bags[rank] += of.vectors;
    }
    add_memory(part_, of, rank, expanded_);
    if (part_.dense_gradient) add_apply(part_, of, rank, applied_rows(*member_.placement, shard));
  }

  LookupPart& part_;
  const GroupMember& member_;
  int sources_;
  ShardAmounts amounts_{};
  double bags_, state_;
  bool expanded_;  // gradients: to a row per lookup
};

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
  for (std::size_t rank = 0; rank < part.asked.size(); ++rank) {
    if (part.asked[rank] || part.applied_rows[rank] > 0) ranks.push_back(static_cast<int>(rank));
  }
  return ranks.size() == part.asked.size() ? std::vector<int>{} : ranks;
}

}  // namespace

std::vector<double> LookupPart::of_ranks(const std::vector<double>& of_all) const {
  if (ranks.empty() || of_all.size() == 1) return of_all;
  std::vector<double> of_these;
  for (const int rank : ranks) of_these.push_back(of_all[rank]);
  return of_these;
}

std::shared_ptr<const DrawnRows> drawn_rows(const GroupMember& member, const std::vector<double>& owners, double items,
                                            int world) {
  const Placement& placement = *member.placement;
  const bool flex = placement.strategy == Strategy::flex, own = placement.strategy == Strategy::data_parallel;
  const double draws = items * (flex ? static_cast<double>(placement.holders.front().size()) : own ? 1 : world);
  const bool cached = memory_of(member) == RowMemory::cached;
  std::vector<double> lookups, more;
  for (const double share : owners) {
    lookups.push_back(share * draws);
    more.push_back(share * draws * kMoreIds);
  }
  DrawnRows::Rows at = rows_of_shards(member, lookups, draws, cached);
  DrawnRows::Rows with_more = rows_of_shards(member, more, draws * kMoreIds, cached);
  return std::make_shared<const DrawnRows>(std::move(lookups), std::move(at), std::move(with_more));
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
      parts.back().asked.assign(world, false);
      for (auto* column : columns(parts.back())) column->assign(world, 0.0);
    }
    LookupPart& part = parts[entry->second];
    part.shards.push_back(member.shard);
    MemberAdder(part, member, workload, group_size).add_all(world);
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
