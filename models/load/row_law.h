#pragma once

#include <cstdint>
#include <vector>

#include "models/access/access_distribution.h"

namespace shardsim {

// The lookups of the rows of one placement: p(x), the expected occurrences per sample of the row x positions into it.
// As planned, p falls with x. As observed, the planned p is stretched between the given points to meet the observed
// shares (ObservedAccess), and may rise at a given point.
class RowLaw {
 public:
  // Positions [first, end) of the table, 0 <= first < end <= rows, else std::invalid_argument.
  RowLaw(const AccessDistribution& planned, std::uint64_t first, std::uint64_t end,
         const ObservedAccess* observed = nullptr);

  std::uint64_t rows() const { return end_ - first_; }
  double total() const { return total_; }  // S
  double probability(std::uint64_t x) const;
  double prefix(std::uint64_t x) const;  // P(x): sum of p over the first x rows
  double sum(std::uint64_t from, std::uint64_t to) const { return prefix(to) - prefix(from); }
  bool constant() const;     // whether p is the same for all rows
  bool whole_table() const;  // whether the placement has all rows of its table
  // True when all numbers are equal and the distributions are copies of one; false for equal ones that were made
  // separately.
  bool operator==(const RowLaw&) const = default;

  // Expected number of different rows of [from, to) that `draws` lookups of that interval meet, within 1e-3.
  double expected_distinct(std::uint64_t from, std::uint64_t to, double draws) const;

 private:
  // From position `first` of the table on the planned p times `factor`; `even` in its place where nothing was planned.
  struct Stretch {
    std::uint64_t first = 0;
    double mass_before = 0;  // of the table's positions before it
    double factor = 1;
    double even = 0;
    bool operator==(const Stretch&) const = default;
  };

  void stretch(const ObservedAccess& observed);
  double table_prefix(std::uint64_t position) const;
  const Stretch& stretch_of(std::uint64_t position) const;

  AccessDistribution planned_;
  std::uint64_t first_, end_;
  std::vector<Stretch> stretches_;  // of the whole table, rising; the first begins at 0
  double before_ = 0, total_ = 0;
};

}  // namespace shardsim
