#include "models/load/row_law.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace shardsim {
namespace {

// Expected number of `rows` equally likely ones that `draws` lookups meet.
double met_evenly(double rows, double draws) {
  return -rows * std::expm1(draws * std::log1p(-1 / rows));
}

}  // namespace

RowLaw::RowLaw(const AccessDistribution& planned, std::uint64_t first, std::uint64_t end,
               const ObservedAccess* observed)
    : planned_(planned), first_(first), end_(end) {
  if (first >= end || end > planned.rows()) throw std::invalid_argument("RowLaw: not an interval of the table's rows");
  if (observed == nullptr) {
    stretches_.push_back({});
  } else {
    stretch(*observed);
  }
  before_ = table_prefix(first_);
  total_ = table_prefix(end_) - before_;
}

// The same masses at the given points as ObservedAccess::sum has, so that a row's p is that sum over this row.
void RowLaw::stretch(const ObservedAccess& observed) {
  std::vector<std::uint64_t> points{0};
  for (const ObservedAccess::Share& share : observed.shares) {
    if (share.rows > points.back() && share.rows < planned_.rows()) points.push_back(share.rows);
  }
  points.push_back(planned_.rows());
  double before = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const double mass = observed.sum(planned_, points[i], points[i + 1]);
    const double plan = planned_.sum(points[i], points[i + 1]);
    const auto rows = static_cast<double>(points[i + 1] - points[i]);
    stretches_.push_back({points[i], before, plan > 0 ? mass / plan : 0, plan > 0 ? 0 : mass / rows});
    before += mass;
  }
}

const RowLaw::Stretch& RowLaw::stretch_of(std::uint64_t position) const {
  return *std::prev(std::ranges::upper_bound(stretches_, position, {}, &Stretch::first));
}

double RowLaw::table_prefix(std::uint64_t position) const {
  if (position == 0) return 0;
  const Stretch& part = stretch_of(position - 1);
  const double even = part.even * static_cast<double>(position - part.first);
  return part.mass_before + part.factor * planned_.sum(part.first, position) + even;
}

double RowLaw::probability(std::uint64_t x) const {
  const Stretch& part = stretch_of(first_ + x);
  return part.factor * planned_.probability(first_ + x) + part.even;
}

double RowLaw::prefix(std::uint64_t x) const {
  return x >= rows() ? total_ : table_prefix(first_ + x) - before_;
}

bool RowLaw::constant() const {
  const double p = probability(0);
  const auto differs = [&](const Stretch& part) {
    if (part.first <= first_ || part.first >= end_) return false;
    return probability(part.first - first_) != p || probability(part.first - 1 - first_) != p;
  };
  return probability(rows() - 1) == p && std::ranges::none_of(stretches_, differs);
}

bool RowLaw::whole_table() const {
  return rows() == planned_.rows();
}

double RowLaw::expected_distinct(std::uint64_t from, std::uint64_t to, double draws) const {
  const double mass = sum(from, to);
  if (!(mass > 0) || !(draws > 0)) return 0;
  double distinct = 0;
  for (std::uint64_t at = first_ + from, end = first_ + to; at < end;) {
    const auto next = std::ranges::upper_bound(stretches_, at, {}, &Stretch::first);
    const std::uint64_t stop = next == stretches_.end() ? end : std::min(end, next->first);
    const double part = draws * (sum(at - first_, stop - first_) / mass);
    const bool even = stretch_of(at).even > 0;
    distinct += even ? met_evenly(static_cast<double>(stop - at), part) : planned_.expected_distinct(at, stop, part);
    at = stop;
  }
  return distinct;
}

}  // namespace shardsim
