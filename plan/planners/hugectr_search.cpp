#include "plan/planners/hugectr_search.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace shardsim {
namespace {

constexpr int kRounds = 20;

// The number of shards that each table is cut into, and the order in which they are dealt.
class ShardOrder {
 public:
  ShardOrder(const std::vector<BucketTable>& tables, int buckets)
      : tables_(tables), buckets_(buckets), shards_(tables.size(), 1), order_(tables.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    sort();
  }

  const std::vector<std::size_t>& order() const { return order_; }  // the table of each shard
  double lookups(std::size_t table) const { return tables_[table].lookups / shards_[table]; }  // of one shard
  double bytes(std::size_t table) const { return tables_[table].bytes / shards_[table]; }

  // Cuts the first table that can be cut; false where none can be.
  bool cut_first() {
    const auto found = std::ranges::find_if(order_, [&](std::size_t table) { return can_cut(table); });
    return found != order_.end() && cut(*found);
  }

  // Into twice as many shards, the new ones behind all others until they are sorted. False where they were too many.
  bool cut(std::size_t table) {
    if (!can_cut(table)) return false;
    std::erase(order_, table);
    shards_[table] *= 2;
    order_.insert(order_.end(), static_cast<std::size_t>(shards_[table]), table);
    sort();
    return true;
  }

  void cut_all_everywhere() {
    order_.clear();
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      shards_[table] = buckets_;
      order_.insert(order_.end(), static_cast<std::size_t>(buckets_), table);
    }
  }

 private:
  bool can_cut(std::size_t table) const { return 2 * shards_[table] <= buckets_; }

  void sort() {
    std::vector<double> lookups_of;
    for (const std::size_t table : order_) lookups_of.push_back(lookups(table));
    std::vector<std::size_t> sorted;
    for (const int place : numpy_order(lookups_of)) sorted.push_back(order_[static_cast<std::size_t>(place)]);
    order_.assign(sorted.rbegin(), sorted.rend());
  }

  const std::vector<BucketTable>& tables_;
  int buckets_;
  std::vector<int> shards_;
  std::vector<std::size_t> order_;
};

// Buckets while shards are dealt to them.
class Deal {
 public:
  Deal(std::size_t tables, const BucketLimits& limits)
      : limits_(limits), buckets_of_(tables), bytes_(static_cast<std::size_t>(limits.buckets), 0.0) {
    for (int bucket = 0; bucket < limits.buckets; ++bucket) by_cost_.emplace_hint(by_cost_.end(), 0.0, bucket);
  }

  // To the cheapest bucket that can take it; false where none can.
  bool place(std::size_t table, double lookups, double bytes) {
    const auto chosen = std::ranges::find_if(by_cost_, [&](const auto& entry) {
      return bytes_[static_cast<std::size_t>(entry.second)] + bytes <= limits_.capacity &&
             !held_.contains({table, entry.second});
    });
    if (chosen == by_cost_.end()) return false;
    const auto [cost, bucket] = *chosen;
    by_cost_.erase(chosen);
    by_cost_.emplace(cost + lookups + limits_.vector_cost, bucket);
    bytes_[static_cast<std::size_t>(bucket)] += bytes;
    held_.emplace(table, bucket);
    buckets_of_[table].push_back(bucket);
    return true;
  }

  BucketPlan plan() && {
    for (std::vector<int>& buckets : buckets_of_) std::ranges::sort(buckets);
    return {std::move(buckets_of_), by_cost_.rbegin()->first};
  }

 private:
  const BucketLimits& limits_;
  std::vector<std::vector<int>> buckets_of_;    // by table
  std::vector<double> bytes_;                   // by bucket
  std::set<std::pair<double, int>> by_cost_;    // cost, bucket
  std::set<std::pair<std::size_t, int>> held_;  // table, bucket
};

// Plans found so far, the best alone.
class BestPlan {
 public:
  // The table whose shard finds no room; nothing where all do, and the plan was judged.
  std::optional<std::size_t> try_deal(const ShardOrder& shards, std::size_t tables, const BucketLimits& limits) {
    if (limits.check_stop) limits.check_stop();
    Deal deal(tables, limits);
    for (const std::size_t table : shards.order()) {
      if (!deal.place(table, shards.lookups(table), shards.bytes(table))) return table;
    }
    BucketPlan plan = std::move(deal).plan();
    if (!best_ || plan.largest_cost < best_->largest_cost) best_ = std::move(plan);
    return {};
  }

  std::optional<BucketPlan> take() && { return std::move(best_); }

 private:
  std::optional<BucketPlan> best_;
};

}  // namespace

std::optional<BucketPlan> search_buckets(const std::vector<BucketTable>& tables, const BucketLimits& limits) {
  BestPlan best;
  ShardOrder everywhere(tables, limits.buckets);
  everywhere.cut_all_everywhere();
  best.try_deal(everywhere, tables.size(), limits);
  ShardOrder shards(tables, limits.buckets);
  for (int round = 0; round < kRounds; ++round) {
    const std::optional<std::size_t> without_room = best.try_deal(shards, tables.size(), limits);
    if (!(without_room ? shards.cut(*without_room) : shards.cut_first())) break;
  }
  return std::move(best).take();
}

}  // namespace shardsim
