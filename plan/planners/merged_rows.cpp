#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "plan/planners/tier_cut.h"

namespace shardsim {
namespace {

RowMark maximum(RowMark a, const RowMark& b) {
  for (std::size_t t = 0; t < a.size(); ++t) a[t] = std::max(a[t], b[t]);
  return a;
}

}  // namespace

void MergedRows::add(AccessDistribution distribution, double row_bytes) {
  tables_.push_back({std::move(distribution), row_bytes});
}

RowMark MergedRows::all() const {
  RowMark cut;
  for (const Entry& table : tables_) cut.push_back(table.distribution.rows());
  return cut;
}

RowMark MergedRows::at_least(double p) const {
  if (p <= 0) return all();
  RowMark cut;
  for (const Entry& table : tables_) cut.push_back(table.distribution.count_at_least(p));
  return cut;
}

double MergedRows::bytes(const RowMark& cut) const {
  double sum = 0;
  for (std::size_t t = 0; t < tables_.size(); ++t) sum += tables_[t].row_bytes * static_cast<double>(cut[t]);
  return sum;
}

double MergedRows::accesses(const RowMark& cut) const {
  double sum = 0;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    sum += tables_[t].row_bytes * tables_[t].distribution.prefix(cut[t]);
  }
  return sum;
}

RowMark MergedRows::furthest(const RowMark& from, double p_end, const std::function<bool(const RowMark&)>& fits) const {
  const auto cut_at = [&](std::uint64_t bits) { return maximum(from, at_least(std::bit_cast<double>(bits))); };
  // Patterns of doubles from 0 up are ordered like the doubles, so this bisects ln p, down to neighbouring doubles.
  std::uint64_t low = std::bit_cast<std::uint64_t>(std::max(p_end, 0.0));
  const std::uint64_t high = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
  if (low >= high) return from;
  if (RowMark further = cut_at(low); fits(further)) return further;
  low = last_that(low, high - 1, [&](std::uint64_t bits) { return !fits(cut_at(bits)); });
  return take_run(cut_at(low + 1), cut_at(low), fits);
}

// Rows of one probability, by table, then by position.
RowMark MergedRows::take_run(RowMark from, const RowMark& to, const std::function<bool(const RowMark&)>& fits) const {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    from[t] = last_that(from[t], to[t], [&](std::uint64_t rows) {
      from[t] = rows;
      return fits(from);
    });
    if (from[t] < to[t]) break;
  }
  return from;
}

RowMark MergedRows::next(const RowMark& cut) const {
  std::size_t best = tables_.size();
  double best_p = -1;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    if (cut[t] >= tables_[t].distribution.rows()) continue;
    const double p = tables_[t].distribution.probability(cut[t]);
    if (p > best_p) {
      best = t;
      best_p = p;
    }
  }
  RowMark further = cut;
  if (best < tables_.size()) ++further[best];
  return further;
}

RowMark rounded_down(RowMark cut, std::uint64_t multiple) {
  for (std::uint64_t& rows : cut) rows -= rows % multiple;
  return cut;
}

RowMark rounded_up(RowMark cut, std::uint64_t multiple, const MergedRows& rows) {
  for (std::size_t t = 0; t < cut.size(); ++t) {
    const std::uint64_t over = cut[t] % multiple;
    const std::uint64_t table = rows.distribution(t).rows();
    if (over > 0) cut[t] = std::min(table - table % multiple, cut[t] + (multiple - over));
  }
  return cut;
}

MergedRows merged_rows(const Workload& workload) {
  MergedRows rows;
  for (const Table& table : workload.tables) rows.add(table.distribution(), static_cast<double>(table.row_bytes()));
  return rows;
}

}  // namespace shardsim
