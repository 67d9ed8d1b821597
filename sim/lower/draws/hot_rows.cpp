#include "sim/lower/draws/hot_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/load/row_shares.h"

namespace shardsim {
namespace {

constexpr int kFewOwners = 256;  // what each of them gets is kept: 64 KB of all draws

}  // namespace

HotRows::HotRows(const RowLaw& law, int shards, std::function<RowOwners(int draw)> owners,
                 std::shared_ptr<RowCurves> curves)
    : law_(law), shards_(shards), owners_(std::move(owners)), curves_(std::move(curves)) {}

double HotRows::tail_variance_behind(int doublings) const {
  while (tail_variances_.size() <= static_cast<std::size_t>(doublings))
    tail_variances_.push_back(tail_variance(law_, std::uint64_t{1} << tail_variances_.size()));
  return tail_variances_[static_cast<std::size_t>(doublings)];
}

std::uint64_t HotRows::needed(double bytes, double variance) const {
  if (!(law_.total() > 0) || law_.constant()) return 0;
  const double squares = bytes * bytes / shards_;
  if (squares * law_.probability(0) / law_.total() <= variance) return 0;  // no row is more than the hottest one
  int doublings = 0;
  const auto rows = [&] { return std::min(law_.rows(), std::uint64_t{1} << doublings); };
  while (rows() < kMostPlaced && rows() < law_.rows() && squares * tail_variance_behind(doublings) > variance)
    ++doublings;
  return rows();
}

const HotRows::Excess& HotRows::excess_of(std::uint64_t rows) const {
  Excess& excess = excess_[rows];
  if (!excess.of_row.empty()) return excess;
  const double behind = static_cast<double>(law_.rows() - rows);
  const double each_behind = behind > 0 ? law_.sum(rows, law_.rows()) / behind : 0;
  excess.of_row.reserve(rows);
  const RowCurves::Curve p = curves_->probabilities(law_, rows);
  for (std::uint64_t row = 0; row < rows; ++row) excess.of_row.push_back(((*p)[row] - each_behind) / law_.total());
  excess.all = std::accumulate(excess.of_row.begin(), excess.of_row.end(), 0.0);
  return excess;
}

std::vector<double> HotRows::more_of(int draw, std::uint64_t rows) const {
  const Excess& excess = excess_of(rows);
  std::vector<double> more(static_cast<std::size_t>(shards_), -excess.all / shards_);
  const std::vector<std::int32_t> owners = owners_(draw).of_first(rows);
  for (std::size_t row = 0; row < owners.size(); ++row)
    more[static_cast<std::size_t>(owners[row])] += excess.of_row[row];
  return more;
}

const std::vector<double>& HotRows::known_more_of(int draw, std::uint64_t rows) const {
  const RowsAndDraw asked{rows, draw};
  if (shards_ <= kFewOwners) {
    std::vector<double>& more = more_[asked];
    if (more.empty()) more = more_of(draw, rows);
    return more;
  }
  if (last_more_.second.empty() || last_more_.first != asked) last_more_ = {asked, more_of(draw, rows)};
  return last_more_.second;
}

void HotRows::add_to(std::vector<double>& load, const std::vector<int>& ranks, double bytes, int draw,
                     std::uint64_t rows) const {
  const std::vector<double>& more = known_more_of(draw, rows);
  for (std::size_t owner = 0; owner < ranks.size(); ++owner)
    load[static_cast<std::size_t>(ranks[owner])] += bytes * more[owner];
}

}  // namespace shardsim
