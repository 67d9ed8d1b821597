#include <algorithm>
#include <numeric>

#include "tests/models/load/cases/case.h"

// Section 3: distinct rows, and bags that follow from their first id.

namespace shardsim::golden {
namespace {

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

Differences check_distinct_rows(const LoadCase& item) {
  Fields input(item.input, "input");
  const double lookups = input.real("lookups");
  const CaseTable table = case_table(input);
  input.finish();
  const std::vector<double> by_owner = table.shares().distinct(lookups);
  const RowLaw law = table.law();
  const Json got = {{"all", law.expected_distinct(0, law.rows(), lookups)},
                    {"by_owner", by_owner},
                    {"first_owner", by_owner.front()},
                    {"last_owner", by_owner.back()},
                    {"largest", *std::ranges::max_element(by_owner)},
                    {"smallest", *std::ranges::min_element(by_owner)}};
  return differences(stated(item.expected), got, tolerance_of(item, "relative"));
}

Differences check_first_id_bags(const LoadCase& item) {
  Fields input(item.input, "input");
  const int size = static_cast<int>(input.whole("bag"));
  const double bags = input.real("bags");
  const CaseTable table = case_table(input);
  input.finish();
  const RowLaw law = table.law();
  const RowShares shares(law, table.rows(), {size, table.hash});
  const std::vector<double> by_owner = shares.distinct(bags * size);
  const AccessSpec uniform;
  const RowLaw even(AccessDistribution(uniform, law.rows(), 1), 0, law.rows());
  const Json got = {{"lists_placed", shares.lists_placed()},
                    {"shares", shares.shares()},
                    {"max_over_mean", shares.max_over_mean()},
                    {"distinct_first_ids", law.expected_distinct(0, law.rows(), bags)},
                    {"distinct_rows", sum_of(by_owner)},
                    {"distinct_by_owner", by_owner},
                    {"if_ids_were_independent", law.expected_distinct(0, law.rows(), bags * size)},
                    {"if_uniform_and_independent", even.expected_distinct(0, law.rows(), bags * size)}};
  const std::vector<std::string> of_shares{"lists_placed", "shares", "max_over_mean"};
  const Json expected = stated(item.expected);
  Differences found = differences(only(expected, of_shares), got, tolerance_of(item, "shares_relative"));
  append(found, differences(without(expected, of_shares), got, tolerance_of(item, "distinct_relative")));
  return found;
}

}  // namespace shardsim::golden
