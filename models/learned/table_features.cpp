#include "models/learned/table_features.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/units.h"

namespace shardsim {
namespace {

constexpr double kLine = 64;  // bytes that memory hands over at a time
constexpr double kLeastLookups = 1e-6;
constexpr double kLeastPart = 1e-3, kLeastLargest = 1e-3;
constexpr std::array<double, 3> kCaches{0x1p20, 0x1p23, 0x1p25};  // bytes, of which lookups may miss rows
constexpr double kRowsOfBag = 4;    // that a group waits for as long as for the start of a bag
constexpr double kLastPart = 0.02;  // of a call, within which places at its end are alike

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

// Whole lines of 64 bytes.
double row_bytes(const TableStatistics& table, double dim) {
  return std::max(kLine, dim * table.dtype_bytes);
}

// The lines that a layout counts: `measured` knows nothing of where tables lie, and takes whole lines.
RowLines lines_of(const CallPiece& piece, FeatureLayout layout) {
  const auto row = piece.columns * piece.table.dtype_bytes, vector = piece.columns * kVectorElementBytes;
  if (layout != FeatureLayout::batches) {
    const double whole = row_bytes(piece.table, static_cast<double>(piece.columns));
    return {whole, whole, static_cast<double>(vector)};
  }
  return piece.lines == RowLines{} ? expected_lines(row, vector) : piece.lines;
}

// Tables that nothing is looked up in are as one that a lookup in a million batches finds.
std::vector<float> measured_features(const TableStatistics& table, double dim) {
  const double lookups = std::max(table.lookups, kLeastLookups), distinct = std::max(table.distinct, kLeastLookups);
  return in_floats({std::log(dim), std::log(distinct / lookups), std::log(lookups),
                    std::log(std::max(table.rows, kFewestStatisticRows) * dim * table.dtype_bytes),
                    std::log(distinct * row_bytes(table, dim))});
}

double work_of(const TableStatistics& table) {
  return table.lookups + kRowsOfBag * table.batch;
}

void put_in_order(std::vector<CallPiece>& pieces) {
  double all = 0, done = 0;
  for (const CallPiece& piece : pieces) all += work_of(piece.table);
  if (!(all > 0)) return;
  for (CallPiece& piece : pieces) {
    done += work_of(piece.table);
    piece.place = std::min(done / all, 1.0);
  }
}

// The logarithms of what is done and of what is left when a piece is done: of an unknown place their means.
std::array<double, 2> place_features(double place) {
  constexpr double kAll = 1 + kLastPart;
  if (place > 0) return {std::log(place), std::log(kAll - place)};
  return {-1, kAll * std::log(kAll) - kLastPart * std::log(kLastPart) - 1};
}

// The fourth root of the mean of place^16 over all places where the place is not known.
double lastness(double place) {
  return place > 0 ? std::pow(place, 4) : std::pow(17.0, -0.25);
}

std::vector<float> batch_features(const TableStatistics& table, double dim, const RowLines& lines, double place) {
  const double lookups = std::max(table.lookups, kLeastLookups), distinct = std::max(table.distinct, kLeastLookups);
  std::vector<double> features{std::log(dim),
                               std::log(lookups),
                               std::log(std::max(table.batch, 1.0)),
                               std::log(std::max(table.rows, kFewestStatisticRows) * dim * table.dtype_bytes),
                               std::log(distinct * row_bytes(table, dim)),
                               std::log(distinct / lookups),
                               std::log(lines.memory / (dim * table.dtype_bytes)),
                               std::log(lines.cache / (dim * table.dtype_bytes)),
                               std::log(lines.vector / (dim * static_cast<double>(kVectorElementBytes))),
                               std::log(table.reuse.long_lookups / lookups + kLeastPart),
                               std::log(std::max(table.reuse.largest, kLeastLargest))};
  for (const double feature : place_features(place)) features.push_back(feature);
  for (const double cache : kCaches)
    features.push_back(std::log(table.reuse.missed_by(cache / row_bytes(table, dim)) / lookups + kLeastPart));
  return in_floats(features);
}

void check_statistics(const Table& table) {
  if (table.kind != TableKind::pooled)
    throw input_error(table.place,
                      "table '" + table.name +
                          "' is a sequence: it has no pooling factor, which learned "
                          "costs take as a feature",
                      "Take closed-form costs for this workload, or leave the table out");
  if (!table.access_stated)
    throw input_error(table.place,
                      "table '" + table.name +
                          "' does not say how its rows are accessed: learned costs take as features how often a batch "
                          "meets a row",
                      "State its access (access: {family: uniform} where all rows are as likely), or take closed-form "
                      "costs");
}

}  // namespace

std::vector<std::string> words_of(FeatureLayout) {
  return {"neuroshard", "autoshard", "measured", "batches"};
}

const std::vector<std::string>& feature_names(FeatureLayout layout) {
  static const std::vector<std::string> neuroshard = neuroshard_names(), autoshard = autoshard_names();
  static const std::vector<std::string> measured{"log_dim", "log_distinct_share", "log_lookups", "log_table_bytes",
                                                 "log_distinct_bytes"};
  static const std::vector<std::string> batches{"log_dim",
                                                "log_lookups",
                                                "log_batch",
                                                "log_table_bytes",
                                                "log_distinct_bytes",
                                                "log_distinct_share",
                                                "log_line_bytes_of_row_byte",
                                                "log_cache_line_bytes_of_row_byte",
                                                "log_cache_line_bytes_of_vector_byte",
                                                "log_long_share",
                                                "log_largest",
                                                "log_place",
                                                "log_left",
                                                "log_missed_of_1_mib",
                                                "log_missed_of_8_mib",
                                                "log_missed_of_32_mib"};
  if (layout == FeatureLayout::batches) return batches;
  if (layout == FeatureLayout::measured) return measured;
  return layout == FeatureLayout::neuroshard ? neuroshard : autoshard;
}

TableStatistics table_statistics(const Table& table, std::int64_t batch) {
  check_statistics(table);
  TableStatistics result;
  result.rows = kFewestStatisticRows;
  result.pooling = table.average_length;
  result.dtype_bytes = dtype_bytes(table.dtype);
  result.batch = static_cast<double>(batch);
  if (!(table.average_length > 0)) return result;
  result.rows = std::max(kFewestStatisticRows, static_cast<double>(table.rows));
  result.lookups = static_cast<double>(batch) * table.average_length;
  const AccessDistribution access = table.distribution();
  result.bins = expected_count_bins(access, result.lookups);
  result.distinct = access.expected_distinct(0, access.rows(), result.lookups);
  result.reuse = row_reuse(access, 0, access.rows(), result.lookups);
  return result;
}

void lay_out(std::vector<CallPiece>& pieces, const std::vector<double>& rows, int row_alignment) {
  if (row_alignment == 0) return;
  put_in_order(pieces);
  std::int64_t sample_bytes = 0;
  for (const CallPiece& piece : pieces) sample_bytes += piece.columns * kVectorElementBytes;
  CallPlaces places(row_alignment, sample_bytes);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::int64_t row = pieces[i].columns * pieces[i].table.dtype_bytes;
    const std::int64_t vector = pieces[i].columns * kVectorElementBytes;
    pieces[i].lines = places.lines(row, vector);
    places.pass(rows[i] * static_cast<double>(row), vector);
  }
}

std::vector<float> table_features(const CallPiece& piece, FeatureLayout layout) {
  const TableStatistics& table = piece.table;
  const auto dim = static_cast<double>(piece.columns);
  if (layout == FeatureLayout::batches) return batch_features(table, dim, lines_of(piece, layout), piece.place);
  if (layout == FeatureLayout::measured) return measured_features(table, dim);
  return layout == FeatureLayout::neuroshard ? neuroshard_features(table, dim) : autoshard_features(table, dim);
}

std::array<float, PieceAmounts::kCount> table_amounts(const CallPiece& piece, FeatureLayout layout) {
  const TableStatistics& table = piece.table;
  const RowLines lines = lines_of(piece, layout);
  const auto dim = static_cast<double>(piece.columns);
  const double bytes = lines.memory, batch = std::max(table.batch, 1.0);
  const double lookups = std::max(table.lookups, kLeastLookups), distinct = std::max(table.distinct, kLeastLookups);
  const auto fourth = [](double of) { return static_cast<float>(std::pow(std::max(of, kLeastPart), 4)); };
  return {static_cast<float>(1e-6 * lookups * (1 + bytes / kLine)),
          static_cast<float>(distinct * bytes / 0x1p25),
          static_cast<float>(1e-5 * lookups),
          0.125F,
          static_cast<float>(1e-5 * batch),
          static_cast<float>(batch * lines.vector / 0x1p25),
          static_cast<float>(std::pow(dim / 64, 8)),
          static_cast<float>(1e-6 * std::max(table.rows, kFewestStatisticRows)),
          fourth(table.reuse.largest / 32),
          fourth(table.pooling / 16),
          fourth(table.pooling / 16 * lastness(piece.place))};
}

}  // namespace shardsim
