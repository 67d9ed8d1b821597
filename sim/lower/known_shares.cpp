#include "sim/lower/known_shares.h"

#include <algorithm>
#include <utility>

namespace shardsim {
namespace {

constexpr std::size_t kKinds = 256;
constexpr std::size_t kMostTriedBytes = std::size_t{64} << 20;
constexpr std::size_t kMostPlacements = 256, kMostPlacementsOfTable = 16;  // that are kept from case to case

}  // namespace

FirstIdBags first_id_bags(const Table& table, const RowHash& hash) {
  if (table.bag_ids == BagIds::independent) return {};
  return {static_cast<int>(table.features.front().pooling_factor), hash};
}

RowShares one_owner(const Placement& placement, const Table& table, const AccessDistribution& access,
                    std::shared_ptr<RowCurves> curves) {
  const RowOwners owners(placement.rows(), 1, RowOrder::popularity, RowCut::blocks, {});
  return {RowLaw(access, 0, placement.rows()), owners, first_id_bags(table, {table.name, 1, 0}), std::move(curves)};
}

RowCut cut_of(const Placement& placement, const Table& table, const LoadOptions& options) {
  const bool hashed = placement.strategy == Strategy::flex || placement.rows() < table.rows;
  return hashed ? RowCut::hashed : options.row_cut;
}

std::shared_ptr<const RowShares> KnownShares::of(const Placement& placement, const Table& table, RowCut cut,
                                                 const RowHash& hash, bool observed, std::uint64_t most_head) {
  const auto found = [&] {
    return std::make_shared<const RowShares>(shares_of(placement, table, cut, hash, observed, most_head));
  };
  const bool tried = most_head < kMostHeadRows;
  if (tried && tried_ == Tried::dropped) return found();
  const Key key{table.name, hash.table, placement.row_begin, placement.row_end, placement.shards(),
                cut,        hash.seed,  hash.tier,           observed,          placement.bucket_rows};
  if (tried) return tried_of({most_head, key}, found);
  std::shared_ptr<const RowShares>& shares = known_[key];
  if (!shares) shares = found();
  return shares;
}

// Where there is no room for all, the first ones stay: whoever asks for them asks for all of them, in the same order.
std::shared_ptr<const RowShares> KnownShares::tried_of(const TriedKey& key,
                                                       const std::function<std::shared_ptr<const RowShares>()>& found) {
  if (const auto known = tried_shares_.find(key); known != tried_shares_.end()) return known->second;
  std::shared_ptr<const RowShares> shares = found();
  if (tried_bytes_ > kMostTriedBytes) return shares;
  tried_bytes_ += shares->bytes();
  return tried_shares_[key] = std::move(shares);
}

RowShares KnownShares::shares_of(const Placement& placement, const Table& table, RowCut cut, const RowHash& hash,
                                 bool observed, std::uint64_t most_head) {
  const RowOwners owners(placement.rows(), placement.shards(), table.row_order, cut, hash, placement.bucket_rows);
  const ObservedAccess* runtime = observed && table.runtime ? &*table.runtime : nullptr;
  const RowLaw law(distribution(table), placement.row_begin, placement.row_end, runtime);
  return {law, owners, first_id_bags(table, hash), curves_, most_head};
}

std::shared_ptr<const HotRows> KnownShares::hot_rows(const Placement& placement, const Table& table, RowCut cut,
                                                     int tier) {
  const Key key{table.name, row_key(table), placement.row_begin,  placement.row_end, placement.shards(), cut, 0,
                tier,       false,          placement.bucket_rows};
  std::shared_ptr<const HotRows>& known = hot_rows_[key];
  if (known) return known;
  const RowLaw law(distribution(table), placement.row_begin, placement.row_end);
  const auto owners = [rows = placement.rows(), shards = placement.shards(), order = table.row_order, cut, tier,
                       bucket = placement.bucket_rows, name = row_key(table),
                       joined = joined_rows(table, placement.row_end)](int draw) {
    return RowOwners(rows, shards, order, cut, {name, static_cast<std::uint64_t>(draw), tier, joined}, bucket);
  };
  return known = std::make_shared<const HotRows>(law, placement.shards(), owners, curves_);
}

const RowReuse& KnownShares::reuse(const Placement& placement, const Table& table, const AccessDistribution& access,
                                   double lookups) {
  std::deque<KnownReuse>& alike = reuse_[{placement.row_begin, placement.row_end, access.total(), lookups}];
  const auto is_of = [&](const KnownReuse& each) { return each.access == access || each.table == table.name; };
  const auto known = std::ranges::find_if(alike, is_of);
  if (known != alike.end()) return known->reuse;
  alike.push_back({table.name, access, row_reuse(access, placement.row_begin, placement.row_end, lookups)});
  return alike.back().reuse;
}

double KnownShares::distinct(const Placement& placement, const Table& table, const AccessDistribution& access,
                             double draws) {
  std::deque<KnownDistinct>& alike = distinct_[{placement.row_begin, placement.row_end, access.total(), draws}];
  const int bag = table.bag_ids == BagIds::first_id ? first_id_bags(table, {}).size : 0;
  const auto is_of = [&](const KnownDistinct& each) { return each.bag == bag && each.access == access; };
  const auto known = std::ranges::find_if(alike, is_of);
  if (known != alike.end()) return known->rows;
  if (alike.size() == kKinds) alike.pop_front();
  const double rows = bag > 0 ? one_owner(placement, table, access, curves_).distinct(draws).front()
                              : access.expected_distinct(placement.row_begin, placement.row_end, draws);
  alike.push_back({access, bag, rows});
  return rows;
}

AccessDistribution KnownShares::distribution(const Table& table) {
  const auto alike = [&](const Kind& kind) {
    return kind.distribution.rows() == table.rows && kind.length == table.average_length && kind.access == table.access;
  };
  const auto found = std::ranges::find_if(kinds_, alike);
  if (found != kinds_.end()) return found->distribution;
  if (kinds_.size() == kKinds) kinds_.pop_front();
  kinds_.push_back({table.access, table.average_length, table.distribution()});
  return kinds_.back().distribution;
}

std::shared_ptr<KnownShares> KeptShares::of(const std::vector<Table>& tables) {
  if (shares_ && tables_ == tables &&
      shares_->size() < std::max(kMostPlacements, kMostPlacementsOfTable * tables.size()))
    return shares_;
  tables_ = tables;
  return shares_ = std::make_shared<KnownShares>(tried_);
}

bool even(const RowShares& shares, const Placement& placement) {
  if (!shares.equal()) return false;
  for (int owner = 0; owner < placement.shards(); ++owner) {
    if ((shares.rows_of(owner) > 0) != (placement.shard_rows(owner) > 0)) return false;
  }
  return true;
}

}  // namespace shardsim
