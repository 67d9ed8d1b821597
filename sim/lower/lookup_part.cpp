#include "sim/lower/lookup_part.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/lower/known_shares.h"
#include "sim/lower/row_traffic.h"
#include "sim/lower/touched_rows.h"

namespace shardsim {
namespace {

bool has_dense_gradient(const GroupMember& member) {
  return replicated(member.placement->strategy) || member.placement->compute_kernel == "dense";
}

// True when the update is two operations, of which the second passes over all rows that are held.
bool applies_apart(const GroupMember& member, const Workload& workload) {
  if (workload.update_all_rows && memory_of(member) != RowMemory::hbm)
    throw input_error(
        member.table->place,
        "table '" + member.table->name +
            "' lies in host memory, which cannot be simulated with an optimizer that passes over all rows",
        "Take another compute kernel, or update: exact_sorted");
  return has_dense_gradient(member) || workload.update_all_rows;
}

// dtype, pooling, weighted, memory, kernel of a key-value store with its caches, dense gradient, optimizer apart,
// table.
using Key = std::tuple<int, std::string, bool, RowMemory, std::string, std::optional<Bytes>, Bytes, bool, bool, int>;

Key key_of(const GroupMember& member, const Workload& workload, bool by_dtype) {
  const auto& features = member.table->features;
  const bool weighted = std::any_of(features.begin(), features.end(), [](const Feature& f) { return f.weighted; });
  const bool stored = store_of(member) != RowStore::none;
  return {by_dtype ? static_cast<int>(member.table->dtype) : 0,
          member.table->pooling,
          weighted,
          memory_of(member),
          stored ? member.placement->compute_kernel : "",
          stored ? member.placement->most_l1 : std::nullopt,
          stored ? member.placement->l2 : Bytes{},
          has_dense_gradient(member),
          applies_apart(member, workload),
          workload.embedding_kernels == "per_table" || !member.table->sharded ? member.placement->table : -1};
}

// Part of a table's ids whose weights get a gradient in the backward pass.
double share_of_trained_weights(const Table& table) {
  return share_of_ids(table, [](const Feature& feature) { return feature.weighted && feature.weight_gradient; });
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

// Bytes of a row's gradient where it is summed over ranks.
double dense_gradient_bytes(const GroupMember& member, const Workload& workload) {
  const DenseAllReduce& all_reduce = workload.dense.all_reduce;
  const Dtype dtype = all_reduce.one_call ? all_reduce.dtype : gradient_dtype(*member.table);
  return static_cast<double>(member.placement->columns() * dtype_bytes(dtype));
}

// The amounts of the row shards of one set of holders in an iteration, for all ranks together that they serve.
struct ShardAmounts {
  std::vector<double> lookups;  // [row shard]
  DrawnRows::Rows rows;
};

ShardAmounts shard_amounts(const GroupMember& member, int sources, bool cached, KnownShares* known) {
  const double all = static_cast<double>(member.items.count) * sources;
  const double draws = static_cast<double>(member.occurrences) * sources;
  std::vector<double> lookups = lookups_of_shards(member, sources);
  DrawnRows::Rows rows = rows_of_shards(member, lookups, all, draws, cached, known);
  return {std::move(lookups), std::move(rows)};
}

// The same of a drawn batch. `sources`: ranks of the world that the set serves.
ShardAmounts drawn_amounts(const GroupMember& member, const std::vector<int>& sources, bool cached) {
  const CellCounts& ids = member.drawn->ids;
  ShardAmounts amounts{std::vector<double>(ids.cells, 0.0), {}};
  for (std::size_t shard = 0; shard < ids.cells; ++shard) {
    double draws = 0;
    for (const int source : sources) {
      amounts.lookups[shard] += static_cast<double>(ids.at(source, shard));
      draws += static_cast<double>(member.drawn->occurrences().at(source, shard));
    }
    amounts.rows.touched.push_back(member.drawn->rows->touched(shard, draws));
    amounts.rows.missed.push_back(cached ? member.drawn->rows->missed(shard, draws) : 0);
    amounts.rows.on_ssd.push_back(cached ? member.drawn->rows->on_ssd(shard, draws) : 0);
  }
  return amounts;
}

// True when the row shard may have lookups. In a drawn batch one with rows may, whatever was drawn.
bool may_look_up(const GroupMember& member, const ShardAmounts& amounts, std::size_t shard) {
  if (member.drawn == nullptr) return amounts.lookups[shard] > 0;
  return member.placement->strategy == Strategy::data_parallel || member.shares()[shard] > 0;
}

// True when the row shard writes a vector for every bag; one with rows does, also where no id falls to it.
bool writes_bags(const GroupMember& member, const ShardAmounts& amounts, std::size_t shard) {
  const bool rows = member.uneven && member.items.count > 0 && member.uneven->rows_of(static_cast<int>(shard)) > 0;
  return rows || may_look_up(member, amounts, shard);
}

// The row shards of one placement on the ranks that hold them.
class MemberAdder {
 public:
  MemberAdder(LookupPart& part, const GroupMember& member, const Workload& workload, int sources,
              const PartRules& rules)
      : part_(part),
        member_(member),
        sources_(sources),
        bags_(static_cast<double>(member.forward.count) * sources),
        state_(static_cast<double>(optimizer_row_bytes(workload.optimizer, member.placement->columns()))),
        stored_row_(stored_row_bytes(*member.placement, workload)),
        gradient_(dense_gradient_bytes(member, workload)),
        trained_(share_of_trained_weights(*member.table)),
        kernels_(row_kernels_of(workload)) {
    const double draws = static_cast<double>(member.occurrences) * sources;
    if (cached()) uncached_ = uncached_share(member, draws, rules.fills_ahead);
    if (cached() && !member.latest_cached) cold_ = cold_lookups(member);
    by_table_ = rules.tables;
    known_ = rules.known;
    if (rules.growth) growth_ = growth_by_more(member, draws, known_);
  }

  void add_all(int world) {
    const Placement& placement = *member_.placement;
    const bool own = placement.strategy == Strategy::data_parallel;
    if (member_.drawn == nullptr) amounts_ = shard_amounts(member_, sources_, cached(), known_);
    if (by_table_) part_.tables.emplace_back().lookups.values.assign(static_cast<std::size_t>(world), 0.0);
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
    RowTraffic of;
    of.row = static_cast<double>(member_.row_bytes);
    of.state = state_;
    of.forward = static_cast<double>(member_.forward.bytes);
    of.backward = static_cast<double>(member_.backward.bytes);
    of.summed = part_.dense_gradient ? gradient_ : of.backward;
    of.lookups = of.vectors = amounts_.lookups[shard];
    of.touched = amounts_.rows.touched[shard];
    of.cached_row = part_.store == RowStore::none ? of.row : stored_row_;
    if (cached()) add_misses(of, shard);
    if (part_.store != RowStore::none) {
      of.stored = amounts_.rows.missed[shard];
      of.on_ssd = std::min(amounts_.rows.on_ssd[shard], of.stored);
    }
    of.touched_by_more = growth_ * of.touched;
    part_.asked[rank] = part_.asked[rank] || may_look_up(member_, amounts_, shard);
    if (by_table_) add_to_table(rank, shard);
    of.weighted = trained_;
    if (member_.pooled()) {
      of.vectors = writes_bags(member_, amounts_, shard) ? bags_ : 0;
      part_.bags[rank] += of.vectors;
    }
    add_traffic(part_, of, rank, kernels_);
    if (part_.dense_gradient)
      add_apply(part_, of, rank, applied_rows(*member_.placement, shard), has_dense_gradient(member_), kernels_);
  }

  void add_misses(RowTraffic& of, std::size_t shard) const {
    const double missed = amounts_.rows.missed[shard];
    if (member_.latest_cached) {
      // A row that comes takes the place of another one, which was trained and goes back. Those without room are among
      // the missed: whatever was there had its place.
      of.missed = 2 * std::max(missed - uncached_ * of.touched, 0.0);
      of.uncached = of.uncached_rows = uncached_;
      return;
    }
    // No row takes the place of one that is used more often: it stays in host memory, and is used there.
    of.uncached = cold_[shard];
    of.uncached_rows = of.touched > 0 ? std::min(1.0, missed / of.touched) : 0;
  }

  void add_to_table(int rank, std::size_t shard) {
    OpTable& table = part_.tables.back();
    table.lookups.values[static_cast<std::size_t>(rank)] += amounts_.lookups[shard];
    if (table.reuse.lookups > 0) return;
    const std::int64_t bags = member_.pooled() ? member_.forward.count : member_.lengths.count;
    table.bags = static_cast<double>(bags) * sources_;
    table.reuse = reuse_of_all();
  }

  // Counts the lookups of one set of holders; the different rows are those that the update touches.
  RowReuse reuse_of_all() const {
    const Placement& placement = *member_.placement;
    const double lookups = std::accumulate(amounts_.lookups.begin(), amounts_.lookups.end(), 0.0);
    const std::vector<double>& touched = amounts_.rows.touched;
    RowReuse reuse = known_ == nullptr ? row_reuse(member_.access, placement.row_begin, placement.row_end, lookups)
                                       : known_->reuse(placement, *member_.table, member_.access, lookups);
    reuse.distinct = std::accumulate(touched.begin(), touched.end(), 0.0);
    for (double& missed : reuse.missed) missed = std::max(missed, reuse.distinct);
    return reuse;
  }

  LookupPart& part_;
  const GroupMember& member_;
  int sources_;
  ShardAmounts amounts_{};
  bool by_table_ = false;
  KnownShares* known_ = nullptr;
  double bags_, state_, stored_row_;
  double gradient_;           // bytes of a row's, where it is dense
  double trained_;            // part of the lookups whose weights get a gradient
  double uncached_ = 0;       // of a cache of the latest rows
  std::vector<double> cold_;  // [row shard] of one of the hottest
  double growth_ = 0;         // of the different rows, by kMoreIds as many lookups; 0: nobody asked
  RowKernels kernels_;
};

std::vector<std::vector<double>*> columns(LookupPart& part) {
  return {&part.lookups,
          &part.bags,
          &part.distinct_rows,
          &part.more_rows,
          &part.fetched_bytes,
          &part.lookup_bytes.hbm,
          &part.lookup_bytes.host,
          &part.gradient_bytes.hbm,
          &part.gradient_bytes.host,
          &part.weight_lookups,
          &part.weight_bytes.hbm,
          &part.weight_bytes.host,
          &part.stored.bytes,
          &part.stored.ssd_reads,
          &part.stored.ssd_bytes,
          &part.applied.bytes,
          &part.applied.rows,
          &part.applied.held_bytes,
          &part.hugectr.row_bytes,
          &part.hugectr.vector_bytes,
          &part.hugectr.gradient_bytes};
}

void collapse(std::vector<double>& per_rank) {
  if (std::adjacent_find(per_rank.begin(), per_rank.end(), std::not_equal_to<>()) == per_rank.end()) per_rank.resize(1);
}

// Ranks that hold something of the part; none where that is all of them.
std::vector<int> holders_of(const LookupPart& part) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < part.asked.size(); ++rank) {
    if (part.asked[rank] || part.applied.rows[rank] > 0) ranks.push_back(static_cast<int>(rank));
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

std::vector<OpTable> LookupPart::tables_of_ranks() const {
  std::vector<OpTable> of_these = tables;
  for (OpTable& table : of_these) table.lookups.values = of_ranks(table.lookups.values);
  return of_these;
}

std::vector<double> LookupPart::growth() const {
  std::vector<double> growth;
  const std::vector<double> rows = of_ranks(distinct_rows), more = of_ranks(more_rows);
  for (std::size_t i = 0; i < std::max(rows.size(), more.size()); ++i) {
    const double now = rows[rows.size() == 1 ? 0 : i], then = more[more.size() == 1 ? 0 : i];
    growth.push_back(now > 0 && then > now ? std::min(std::log(then / now) / std::log(kMoreIds), 1.0) : 0);
  }
  collapse(growth);
  return growth;
}

std::vector<double> LookupPart::per_one(const std::vector<double>& bytes, const std::vector<double>& count) const {
  const std::vector<double> all = of_ranks(bytes), of = of_ranks(count);
  std::vector<double> each;
  for (std::size_t i = 0; i < std::max(all.size(), of.size()); ++i) {
    const double number = of[of.size() == 1 ? 0 : i];
    each.push_back(number > 0 ? all[all.size() == 1 ? 0 : i] / number : 0);
  }
  collapse(each);
  return each;
}

std::vector<LookupPart> lookup_parts(const std::vector<GroupMember>& members, const Workload& workload, int group_size,
                                     int world, const PartRules& rules) {
  std::vector<LookupPart> parts;
  std::map<Key, std::size_t> known;
  const bool by_table = workload.embedding_kernels == "per_table";
  for (const GroupMember& member : members) {
    check_memory(member, workload);
    const auto [entry, added] = known.try_emplace(key_of(member, workload, rules.by_dtype), parts.size());
    if (added) {
      parts.emplace_back();
      parts.back().memory = memory_of(member);
      parts.back().store = store_of(member);
      parts.back().dense_gradient = applies_apart(member, workload);
      parts.back().accumulates = has_dense_gradient(member) && member.placement->strategy != Strategy::flex;
      parts.back().asked.assign(world, false);
      for (auto* column : columns(parts.back())) column->assign(world, 0.0);
    }
    LookupPart& part = parts[entry->second];
    part.shards.push_back(member.shard);
    if (row_kernels_of(workload) == RowKernels::fused && member.table->sharded &&
        share_of_trained_weights(*member.table) > 0)
      part.trains_weights = true;
    MemberAdder(part, member, workload, group_size, rules).add_all(world);
  }
  for (LookupPart& part : parts) {
    if (by_table) part.ranks = holders_of(part);
    if (part.ranks.empty()) {
      for (auto* column : columns(part)) collapse(*column);
      for (OpTable& table : part.tables) collapse(table.lookups.values);
    }
  }
  return parts;
}

}  // namespace shardsim
