#include "models/load/id_counts.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/largest_remainder.h"

namespace shardsim {
namespace {

constexpr double kEqual = 1e-9;
constexpr std::int64_t kManyIds = 1000;  // per owner: whole numbers by source are then within 0.1 % of a cell
constexpr int kLargeGroup = 1024;        // members above which a Program holds no dense matrix

IdCounts::Rule uneven_rule(std::int64_t ids, std::size_t owners, int sources) {
  const bool many = ids >= kManyIds * static_cast<std::int64_t>(owners);
  return many || sources > kLargeGroup ? IdCounts::Rule::by_destination : IdCounts::Rule::two_sided;
}

IdCounts::Rule rule_of(std::int64_t ids, const std::vector<double>& shares, int sources, bool owners_are_group) {
  const bool all_have_rows = std::ranges::find(shares, 0.0) == shares.end();
  if (equal_shares(shares)) {
    return owners_are_group && all_have_rows ? IdCounts::Rule::even : IdCounts::Rule::by_destination;
  }
  return uneven_rule(ids, shares.size(), sources);
}

}  // namespace

bool equal_shares(const std::vector<double>& shares) {
  double least = 0, most = 0;
  for (const double share : shares) {
    if (!(share > 0)) continue;
    least = least > 0 ? std::min(least, share) : share;
    most = std::max(most, share);
  }
  return most <= (1 + kEqual) * least;
}

IdCounts::IdCounts(std::int64_t ids, const std::vector<double>& shares, int sources, bool owners_are_group)
    : rule_(rule_of(ids, shares, sources, owners_are_group)), ids_(ids), sources_(sources) {
  if (ids < 0 || sources < 1 || shares.empty()) throw std::invalid_argument("IdCounts: no sources or no owners");
  if (owners_are_group && static_cast<int>(shares.size()) != sources)
    throw std::invalid_argument("IdCounts: another number of owners than members of the group");
  if (rule_ == Rule::even) {
    cells_.assign(shares.size(), ids);
    return;
  }
  cells_ = split_by_largest_remainder(rule_ == Rule::two_sided ? ids * sources : ids, shares);
  sum_up();
}

IdCounts IdCounts::from_received(std::int64_t ids, std::vector<std::int64_t> received, int sources) {
  IdCounts counts(uneven_rule(ids, received.size(), sources), ids, sources);
  counts.cells_ = std::move(received);
  if (counts.rule_ == Rule::by_destination) {
    for (std::int64_t& cell : counts.cells_) cell /= sources;
  }
  counts.sum_up();
  return counts;
}

void IdCounts::sum_up() {
  if (rule_ != Rule::two_sided) return;
  before_.resize(cells_.size());
  std::exclusive_scan(cells_.begin(), cells_.end(), before_.begin(), std::int64_t{0});
}

std::int64_t IdCounts::sent(int source, int owner) const {
  const std::int64_t m = sources_, cell = cells_[static_cast<std::size_t>(owner)];
  if (rule_ == Rule::by_destination) return cell;
  if (rule_ == Rule::even) return ids_ / m + ((owner - source + m) % m < ids_ % m ? 1 : 0);
  const std::int64_t before = before_[static_cast<std::size_t>(owner)];
  return (before + cell + source) / m - (before + source) / m;
}

// Counted from source 0 on, the numerators of sent() pass a multiple of m once each; of `even`, the owners of one id
// more are a stretch of the circle that moves by one a source.
std::array<IdCounts::Change, 2> IdCounts::changes(int owner) const {
  if (rule_ == Rule::by_destination) return {};
  const auto change = [this](std::int64_t source, std::int64_t by) {
    const auto at = static_cast<int>(source % sources_);
    return Change{at, at == 0 ? 0 : by};
  };
  const std::int64_t m = sources_;
  if (rule_ == Rule::even) {
    const std::int64_t more = ids_ % m;
    if (more == 0) return {};
    return {change(owner - more + 1 + m, +1), change(owner + 1, -1)};
  }
  const std::int64_t before = before_[static_cast<std::size_t>(owner)], cell = cells_[static_cast<std::size_t>(owner)];
  return {change(m - (before + cell) % m, +1), change(m - before % m, -1)};
}

std::int64_t IdCounts::received(int owner) const {
  const std::int64_t cell = cells_[static_cast<std::size_t>(owner)];
  return rule_ == Rule::by_destination ? cell * sources_ : cell;
}

}  // namespace shardsim
