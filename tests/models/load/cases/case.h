#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/load/length_law.h"
#include "models/load/row_shares.h"
#include "tests/case_file/compare.h"
#include "tests/case_file/fields.h"

// The parts of real_load_cases, for its own files only.

namespace shardsim::golden {

// One case: what it gives, what it expects and how near that has to be.
struct LoadCase {
  const Json& input;
  const Json& expected;
  const Json& tolerance;
  const Json& standard_error;  // null where the case states none
};

using Differences = std::vector<std::string>;

struct LoadKind {
  std::string_view name;
  Differences (*check)(const LoadCase& item);
};

Differences check_distinct_rows(const LoadCase& item);
Differences check_draw(const LoadCase& item);
Differences check_drawn_exchange(const LoadCase& item);
Differences check_exchange_cells(const LoadCase& item);
Differences check_first_id_bags(const LoadCase& item);
Differences check_grid(const LoadCase& item);
Differences check_hottest_owner(const LoadCase& item);
Differences check_length_law(const LoadCase& item);
Differences check_log_normal_maximum(const LoadCase& item);
Differences check_maximum_of_normals(const LoadCase& item);
Differences check_rank_total(const LoadCase& item);
Differences check_row_shares(const LoadCase& item);
Differences check_sample_factor(const LoadCase& item);
Differences check_shares_over_seeds(const LoadCase& item);
Differences check_spread(const LoadCase& item);
Differences check_tables_together(const LoadCase& item);
Differences check_two_tables(const LoadCase& item);
Differences check_uniforms(const LoadCase& item);

// `expected` without what is null, and with only or without the named fields.
Json stated(const Json& expected);
Json only(const Json& expected, const std::vector<std::string>& keys);
Json without(const Json& expected, const std::vector<std::string>& keys);

// The tolerance named `key` of a map of them.
double tolerance_of(const LoadCase& item, const std::string& key);

void append(Differences& all, const Differences& more);

// One line where `got` is further from `wanted` than `most`.
Differences apart(const std::string& what, double wanted, double got, double most);

// A table's law, order and cut as a case gives them.
struct CaseTable {
  AccessDistribution access;
  std::uint64_t first = 0, end = 0;
  int owners = 1;
  RowOrder order = RowOrder::random;
  RowCut cut = RowCut::blocks;
  RowHash hash = {};

  RowLaw law() const { return {access, first, end}; }
  RowOwners rows() const { return {end - first, owners, order, cut, hash}; }
  RowShares shares() const { return {law(), rows()}; }
};

// Reads access, rows, first, end, owners, row_order, row_cut, table, seed and tier; the last ones and the interval may
// be missing.
CaseTable case_table(Fields& input);
AccessDistribution case_access(const Json& access, std::uint64_t rows);
RowOrder order_named(const std::string& name);
RowCut cut_named(const std::string& name);

// The first seeds of a range such as "1..2000": as many as `work` allows for `each` placed rows, at least 8.
std::vector<std::uint64_t> seeds_of(const std::string& range, double each);

// Reads family, size, sigma, most, low, high, lengths and shares.
LengthSpec case_lengths(Fields& input, const std::string& family);

// Draws of one number.
struct Sample {
  std::vector<double> values;

  double mean() const;
  double spread() const;
  double mean_error() const;                   // standard error of the mean
  double spread_error() const;                 // and of the spread, by the fourth moment
  Sample largest_of(std::size_t group) const;  // of each group of so many
};

// The first and the last name of a list that counts up, ["t_0", "t_25"]: all of them.
std::vector<std::string> names_between(const Json& ends, std::size_t count);

}  // namespace shardsim::golden
