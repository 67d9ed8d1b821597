#include "sim/lower/known_shares.h"

#include <algorithm>
#include <numeric>

#include "sim/lower/row_draws.h"

namespace shardsim {
namespace {

constexpr std::size_t kKinds = 8;

}  // namespace

std::vector<double> DrawnHead::excess(const RowLaw& law, std::uint64_t rows) {
  const double tail = law.sum(rows, law.rows()), behind = static_cast<double>(law.rows() - rows);
  std::vector<double> excess;
  for (std::uint64_t row = 0; row < rows; ++row)
    excess.push_back((law.probability(row) - (behind > 0 ? tail / behind : 0)) / law.total());
  return excess;
}

std::vector<double> DrawnHead::more_of(int draw) const {
  const double all = std::accumulate(excess_.begin(), excess_.end(), 0.0);
  std::vector<double> more(static_cast<std::size_t>(owners_), -all / owners_);
  const std::vector<std::int32_t>& of_rows = of_rows_[static_cast<std::size_t>(draw - 1)];
  for (std::size_t row = 0; row < of_rows.size(); ++row) more[static_cast<std::size_t>(of_rows[row])] += excess_[row];
  return more;
}

FirstIdBags first_id_bags(const Table& table, const RowHash& hash) {
  if (table.bag_ids == BagIds::independent) return {};
  return {static_cast<int>(table.features.front().pooling_factor), hash};
}

RowCut cut_of(const Placement& placement, const Table& table, const LoadOptions& options) {
  const bool hashed = placement.strategy == Strategy::flex || placement.rows() < table.rows;
  return hashed ? RowCut::hashed : options.row_cut;
}

std::shared_ptr<const RowShares> KnownShares::of(const Placement& placement, const Table& table, RowCut cut,
                                                 const RowHash& hash, bool observed) {
  const Key key{table.name, hash.table, placement.row_begin, placement.row_end, placement.shards(),
                cut,        hash.seed,  hash.tier,           observed};
  std::shared_ptr<const RowShares>& shares = known_[key];
  if (shares) return shares;
  const RowOwners owners(placement.rows(), placement.shards(), table.row_order, cut, hash);
  const ObservedAccess* runtime = observed && table.runtime ? &*table.runtime : nullptr;
  const RowLaw law(distribution(table), placement.row_begin, placement.row_end, runtime);
  return shares = std::make_shared<const RowShares>(law, owners, first_id_bags(table, hash), curves_);
}

std::shared_ptr<const DrawnHead> KnownShares::head(const Placement& placement, const Table& table, const RowLaw& law,
                                                   RowCut cut, int tier, std::uint64_t rows) {
  const Key key{table.name, row_key(table), placement.row_begin, placement.row_end, placement.shards(), cut, 0,
                tier,       false};
  std::shared_ptr<const DrawnHead>& known = heads_[{key, rows}];
  if (known) return known;
  auto made = std::make_shared<DrawnHead>(law, rows, placement.shards());
  for (int draw = 1; draw <= kRowDraws; ++draw) {
    const RowHash hash{row_key(table), static_cast<std::uint64_t>(draw), tier};
    made->add_draw(RowOwners(placement.rows(), placement.shards(), table.row_order, cut, hash).of_first(rows));
  }
  return known = std::move(made);
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

bool even(const RowShares& shares, const Placement& placement) {
  if (!shares.equal()) return false;
  for (int owner = 0; owner < placement.shards(); ++owner) {
    if ((shares.rows_of(owner) > 0) != (placement.shard_rows(owner) > 0)) return false;
  }
  return true;
}

}  // namespace shardsim
