#include "sim/lower/touched_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "program/program.h"
#include "sim/lower/group_member.h"
#include "sim/lower/known_shares.h"

namespace shardsim {
namespace {

RowShares one_owner(const GroupMember& member) {
  return one_owner(*member.placement, *member.table, member.access);
}

bool follows_first_id(const GroupMember& member) {
  return member.table->bag_ids == BagIds::first_id;
}

// Expected different rows of `draws` lookups. `known`: what was found out before; none: nothing.
double touched_rows(const GroupMember& member, double draws, KnownShares* known = nullptr) {
  const Placement& placement = *member.placement;
  if (known != nullptr) return known->distinct(placement, *member.table, member.access, draws);
  if (follows_first_id(member)) return one_owner(member).distinct(draws).front();
  return member.access.expected_distinct(placement.row_begin, placement.row_end, draws);
}

double cache_rows(const GroupMember& member) {
  return member.caches.hbm * static_cast<double>(member.placement->rows());
}

// Expected different rows of so many batches of `draws` lookups.
double rows_of_batches(const GroupMember& member, double batches, double draws) {
  return batches > 0 ? touched_rows(member, batches * draws) : 0;
}

// The latest batches whose rows a cache holds: so many, and a share of the rows of the one before these.
struct BatchesHeld {
  double whole = 0, share = 0;
};

constexpr double kMostBatches = 1e9;

BatchesHeld batches_held(const GroupMember& member, double draws, double capacity) {
  const auto rows_of = [&](double batches) { return rows_of_batches(member, batches, draws); };
  double low = 0, high = 1;
  for (; high < kMostBatches && rows_of(high) < capacity; high *= 2) low = high;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (rows_of(middle) < capacity ? low : high) = middle;
  }
  const double held = rows_of(low), more = rows_of(high) - held;
  return {low, more > 0 ? std::clamp((capacity - held) / more, 0.0, 1.0) : 1};
}

// Rows of a batch that none of the latest `batches` has: of them with one more, less of them.
double rows_not_left(const GroupMember& member, double draws, double capacity) {
  const BatchesHeld held = batches_held(member, draws, capacity);
  const auto rows_of = [&](double batches) { return rows_of_batches(member, batches, draws); };
  const double first = rows_of(held.whole), second = rows_of(held.whole + 1), third = rows_of(held.whole + 2);
  return (1 - held.share) * (second - first) + held.share * (third - second);
}

std::vector<double> rows_not_left_by_owner(const GroupMember& member, double draws, double capacity) {
  const BatchesHeld held = batches_held(member, draws, capacity);
  const std::vector<double> first = member.uneven->distinct(held.whole * draws);
  const std::vector<double> second = member.uneven->distinct((held.whole + 1) * draws);
  std::vector<double> rows = member.uneven->distinct((held.whole + 2) * draws);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = (1 - held.share) * (second[i] - first[i]) + held.share * (rows[i] - second[i]);
  return rows;
}

// Rows that the cache of a key-value store in HBM holds, or the one behind it in host memory. The second one gets the
// rows that leave the first one, and those that are read from the SSD (FBGEMM, EmbeddingKVDB::get, FWD_L1_EVICTION and
// FWD_ROCKSDB_READ). So with rows of T batches in both and of t in the first one, the second one holds D(T) - D(t), and
// copies of those in the first one that came lately: that the t batches before these lack, D(2 t) - D(t), or a part
// (T - t) / t of them.
double rows_of_both_caches(const GroupMember& member, double draws) {
  const double rows = static_cast<double>(member.placement->rows()), first = cache_rows(member);
  const double second = member.caches.host * rows;
  if (second >= rows) return rows;
  if (second <= 0) return first;
  const auto rows_of = [&](double batches) { return rows_of_batches(member, batches, draws); };
  const BatchesHeld held = batches_held(member, draws, first);
  const double in_first = held.whole + held.share, copies = rows_of(2 * in_first) - rows_of(in_first);
  const auto in_second = [&](double more) {
    return rows_of(in_first + more) - first + std::min(more / in_first, 1.0) * copies;
  };
  double low = 0, high = 1;
  for (; high < kMostBatches && in_second(high) < second; high *= 2) low = high;
  if (high >= kMostBatches) return rows;
  constexpr int kHalvings = 40;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (in_second(middle) < second ? low : high) = middle;
  }
  return std::clamp(rows_of(in_first + low), first, rows);
}

// The first row that a cache of the hottest rows does not hold, and the share of the lookups of it and all behind it.
struct ColdRows {
  std::uint64_t first = 0;
  double share = 0;
};

ColdRows cold_rows(const GroupMember& member) {
  const Placement& placement = *member.placement;
  const std::uint64_t first =
      placement.row_begin + static_cast<std::uint64_t>(member.caches.hbm * static_cast<double>(placement.rows()));
  const double all = member.access.sum(placement.row_begin, placement.row_end);
  return {first, all > 0 ? member.access.sum(first, placement.row_end) / all : 0};
}

// Expected different rows of `draws` lookups that a cache of the hottest rows does not hold.
double missed_rows(const GroupMember& member, double draws) {
  if (member.latest_cached) return rows_not_left(member, draws, cache_rows(member));
  const Placement& placement = *member.placement;
  if (follows_first_id(member)) return one_owner(member).misses(draws, member.caches.hbm).front();
  const ColdRows cold = cold_rows(member);
  return cold.share > 0 ? member.access.expected_distinct(cold.first, placement.row_end, draws * cold.share) : 0;
}

// Lookups whose expected different rows say which shares of them go to which rows: where each rank removes its
// duplicates, those of its batch; else one, or a bag of which the first id decides the others.
double telling_draws(const GroupMember& member) {
  if (member.table->index_dedup) return static_cast<double>(member.occurrences);
  return follows_first_id(member) ? first_id_bags(*member.table, {member.table->name, 1, 0}).size : 1;
}

// `of_all` rows, to each row shard in proportion to its lookups.
std::vector<double> in_proportion(double of_all, const std::vector<double>& lookups, double all) {
  std::vector<double> rows(lookups.size(), 0.0);
  if (all > 0) std::ranges::transform(lookups, rows.begin(), [&](double each) { return of_all * each / all; });
  return rows;
}

// [row shard] Rows that neither cache of a key-value store has.
std::vector<double> rows_on_ssd(const GroupMember& member, const std::vector<double>& lookups, double all,
                                double draws) {
  const double held = store_of(member) == RowStore::ssd ? rows_of_both_caches(member, draws) : 0;
  if (held <= 0 || held >= static_cast<double>(member.placement->rows()))
    return std::vector<double>(lookups.size(), 0.0);
  if (member.uneven) return rows_not_left_by_owner(member, draws, held);
  return in_proportion(rows_not_left(member, draws, held), lookups, all);
}

}  // namespace

double growth_by_more(const GroupMember& member, double draws, KnownShares* known) {
  const double touched = touched_rows(member, draws, known);
  return touched > 0 ? touched_rows(member, kMoreIds * draws, known) / touched : 1;
}

double uncached_share(const GroupMember& member, double draws, bool prefetches) {
  if (!member.latest_cached) return 0;
  const double in_work = touched_rows(member, (prefetches ? 2 : 1) * draws);
  return in_work > cache_rows(member) ? 1 - cache_rows(member) / in_work : 0;
}

std::vector<double> cold_lookups(const GroupMember& member) {
  const double draws = telling_draws(member);
  if (member.uneven) {
    std::vector<double> cold = member.uneven->misses(draws, member.caches.hbm);
    const std::vector<double> all = member.uneven->distinct(draws);
    for (std::size_t i = 0; i < cold.size(); ++i) cold[i] = all[i] > 0 ? cold[i] / all[i] : 0;
    return cold;
  }
  const std::size_t shards = member.shares().size();
  if (draws == 1) return std::vector<double>(shards, cold_rows(member).share);
  const double all = touched_rows(member, draws);
  return std::vector<double>(shards, all > 0 ? missed_rows(member, draws) / all : 0);
}

DrawnRows::Rows rows_of_shards(const GroupMember& member, const std::vector<double>& lookups, double all, double draws,
                               bool cached, KnownShares* known) {
  const std::vector<double> on_ssd = rows_on_ssd(member, lookups, all, draws);
  if (member.uneven) {
    std::vector<double> touched = member.uneven->distinct(draws);
    const std::vector<double> none(touched.size(), 0.0);
    if (!cached) return {std::move(touched), none, none};
    return {std::move(touched),
            member.latest_cached ? rows_not_left_by_owner(member, draws, cache_rows(member))
                                 : member.uneven->misses(draws, member.caches.hbm),
            on_ssd};
  }
  return {in_proportion(touched_rows(member, draws, known), lookups, all),
          in_proportion(cached ? missed_rows(member, draws) : 0, lookups, all), on_ssd};
}

std::shared_ptr<const DrawnRows> drawn_rows(const GroupMember& member, const std::vector<double>& owners,
                                            double draws) {
  const bool cached = memory_of(member) == RowMemory::cached;
  std::vector<double> lookups, more;
  for (const double share : owners) {
    lookups.push_back(share * draws);
    more.push_back(share * draws * kMoreIds);
  }
  DrawnRows::Rows at = rows_of_shards(member, lookups, draws, draws, cached);
  DrawnRows::Rows with_more = rows_of_shards(member, more, draws * kMoreIds, draws * kMoreIds, cached);
  return std::make_shared<const DrawnRows>(std::move(lookups), std::move(at), std::move(with_more));
}

}  // namespace shardsim
