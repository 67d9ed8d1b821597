#include "plan/learned/table_features.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/units.h"

namespace shardsim {
namespace {

constexpr double kLeastRows = 100;  // gen_dlrm_data.py: row = max(100, largest index + 1)

std::vector<std::string> neuroshard_names() {
  std::vector<std::string> names{"dim", "pooling_factor", "row"};
  for (int bin = 0; bin < kCountBins; ++bin) names.push_back("bin_" + std::to_string(bin));
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> autoshard_names() {
  std::vector<std::string> names{"dim", "row", "pooling_factor", "size"};
  for (int bin = 0; bin < kCountBins; ++bin) names.push_back("bin_" + std::to_string(bin));
  return names;
}

std::vector<float> in_floats(const std::vector<double>& values) {
  std::vector<float> result;
  for (double value : values) result.push_back(static_cast<float>(value));
  return result;
}

std::vector<float> neuroshard_features(const TableStatistics& table, double dim) {
  std::vector<double> values{table.bins[0], table.bins[1]};
  values.insert(values.end(), table.bins.begin() + 10, table.bins.end());
  values.insert(values.end(), table.bins.begin() + 2, table.bins.begin() + 10);
  values.insert(values.end(), {dim, table.pooling, table.rows});
  return in_floats(values);
}

std::vector<float> autoshard_features(const TableStatistics& table, double dim) {
  const double size = table.rows * dim * table.dtype_bytes / static_cast<double>(kGiB);
  std::vector<double> values{dim, table.rows, std::trunc(table.pooling), size};
  values.insert(values.end(), table.bins.begin(), table.bins.end());
  return in_floats(values);
}

}  // namespace

std::vector<std::string> words_of(FeatureLayout) {
  return {"neuroshard", "autoshard"};
}

const std::vector<std::string>& feature_names(FeatureLayout layout) {
  static const std::vector<std::string> neuroshard = neuroshard_names(), autoshard = autoshard_names();
  return layout == FeatureLayout::neuroshard ? neuroshard : autoshard;
}

TableStatistics table_statistics(const Table& table, std::int64_t batch) {
  if (table.kind != TableKind::pooled)
    throw input_error(table.place,
                      "table '" + table.name +
                          "' is a sequence: it has no pooling factor, which learned "
                          "costs take as a feature",
                      "Take closed-form costs for this workload, or leave the table out");
  TableStatistics result{kLeastRows, table.average_length, dtype_bytes(table.dtype), {}};
  if (!(table.average_length > 0)) return result;
  result.rows = std::max(kLeastRows, static_cast<double>(table.rows));
  result.bins = expected_count_bins(table.distribution(), static_cast<double>(batch) * table.average_length);
  return result;
}

std::vector<float> table_features(const TableStatistics& table, std::int64_t columns, FeatureLayout layout) {
  const auto dim = static_cast<double>(columns);
  return layout == FeatureLayout::neuroshard ? neuroshard_features(table, dim) : autoshard_features(table, dim);
}

}  // namespace shardsim
