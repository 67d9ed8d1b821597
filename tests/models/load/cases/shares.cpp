#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/models/load/cases/case.h"

// Section 1: shares of one table, their mean over seeds, several tables together.

namespace shardsim::golden {
namespace {

double least_over_mean(const RowShares& shares) {
  return static_cast<double>(shares.shares().size()) * *std::ranges::min_element(shares.shares());
}

Json as_json(const RowShares& shares) {
  std::vector<std::uint64_t> rows;
  for (std::size_t j = 0; j < shares.shares().size(); ++j) rows.push_back(shares.rows_of(static_cast<int>(j)));
  const std::vector<double>& q = shares.shares();
  return {{"head_rows", shares.head_rows()},
          {"max_over_mean", shares.max_over_mean()},
          {"min_over_mean", least_over_mean(shares)},
          {"hottest_owner", shares.hottest()},
          {"sum", std::accumulate(q.begin(), q.end(), 0.0)},
          {"owner_rows", rows},
          {"shares", q},
          {"owner_rows_first", rows.front()},
          {"owner_rows_last", rows.back()},
          {"share_first", q.front()},
          {"share_last", q.back()}};
}

// The largest over the mean load of owners that hold several tables with equal lookups.
double together(CaseTable table, const std::vector<std::string>& names, std::uint64_t seed) {
  std::vector<double> load(static_cast<std::size_t>(table.owners), 0);
  table.hash.seed = seed;
  for (const std::string& name : names) {
    table.hash.table = name;
    const RowShares shares = table.shares();
    for (std::size_t j = 0; j < load.size(); ++j) load[j] += shares.shares()[j];
  }
  return *std::ranges::max_element(load) * static_cast<double>(load.size()) / static_cast<double>(names.size());
}

// "a mean over m seeds agrees within 4 sd / sqrt(m) + 0.01"
Differences check_mean(const CaseTable& table, const std::vector<std::string>& names, const std::string& range,
                       double wanted, double sd) {
  const double each = static_cast<double>(table.shares().head_rows()) * static_cast<double>(names.size());
  Sample sample;
  for (const std::uint64_t seed : seeds_of(range, each)) sample.values.push_back(together(table, names, seed));
  const double most = 4 * sd / std::sqrt(static_cast<double>(sample.values.size())) + 0.01;
  return apart("mean_max_over_mean", wanted, sample.mean(), most);
}

}  // namespace

Differences check_row_shares(const LoadCase& item) {
  Fields input(item.input, "input");
  const CaseTable table = case_table(input);
  input.finish();
  return differences(stated(item.expected), as_json(table.shares()), tolerance_of(item, "relative"));
}

// The spread and the quantiles of the seeds are stated without a tolerance: the mean is what is compared.
Differences check_shares_over_seeds(const LoadCase& item) {
  Fields input(item.input, "input"), expected(item.expected, "expected");
  const std::string seeds = input.text("seeds");
  const CaseTable table = case_table(input);
  input.finish();
  return check_mean(table, {table.hash.table}, seeds, expected.real("mean_max_over_mean"), expected.real("sd"));
}

Differences check_tables_together(const LoadCase& item) {
  Fields input(item.input, "input"), expected(item.expected, "expected");
  const std::string seeds = input.text("seeds");
  const auto names = names_between(input.at("tables"), static_cast<std::size_t>(input.whole("count")));
  if (!input.flag("equal_lookups", true)) return {"only tables of equal lookups are understood"};
  const CaseTable table = case_table(input);
  input.finish();
  return check_mean(table, names, seeds, expected.real("mean_max_over_mean"), expected.real("sd"));
}

Differences check_grid(const LoadCase& item) {
  Fields input(item.input, "input");
  const std::string seeds = input.text("seeds");
  const RowCut random_cut = cut_named(input.text("row_cut_of_random"));
  const std::string name = input.text("table");
  input.finish();
  Differences found;
  for (const Json& cell : item.expected) {
    Fields fields(cell, "a cell of the grid");
    CaseTable table{case_access(fields.at("access"), fields.at("rows").get<std::uint64_t>())};
    table.end = table.access.rows();
    table.owners = static_cast<int>(fields.whole("owners"));
    table.hash.table = name;
    table.order = RowOrder::popularity;
    Json got;
    for (const RowCut cut : {RowCut::blocks, RowCut::modulo}) {
      table.cut = cut;
      got["popularity_" + std::string(name_of(cut))] = table.shares().max_over_mean();
    }
    append(found, differences(only(cell, {"popularity_blocks", "popularity_modulo"}), got, 1e-9));
    table.order = RowOrder::random;
    table.cut = random_cut;
    append(found, check_mean(table, {name}, seeds, fields.real("random_mean_of_2000_seeds"), fields.real("random_sd")));
  }
  return found;
}

}  // namespace shardsim::golden
