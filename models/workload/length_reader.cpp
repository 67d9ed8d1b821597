#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr double kMostFactorSigma = 5;           // as of log-normal lengths: beyond it no run meets the mean
constexpr std::int64_t kMostBag = 1'000'000;     // ids of a bag that follows from its first id
constexpr std::size_t kMostLengths = 1'000'000;  // of a histogram

std::vector<LengthSpec::Bin> read_histogram(MapReader& reader) {
  std::vector<LengthSpec::Bin> lengths;
  for (const Tree& item : reader.list("lengths", Bounds::from(1).to(kMostLengths))) {
    MapReader bin(item, fmt::format("{}.lengths.{}", reader.path(), lengths.size()));
    const std::int64_t length = bin.count("length", Bounds::from(0));
    lengths.push_back({length, bin.real("share", Bounds::from(0).to(1))});
    bin.finish();
  }
  return lengths;
}

std::string read_length_file(MapReader& reader, const std::string& folder) {
  std::string file = read_file_name(reader, "file");
  if (is_file(std::filesystem::path(folder) / file)) return file;
  throw input_error(reader.place_of("file"), "there is no file " + excerpt(file),
                    "Give a path relative to the workload file");
}

void read_log_normal(MapReader& reader, LengthSpec& spec) {
  spec.sigma = reader.real("sigma", Bounds::above(0).to(kMostLengthSigma));
  if (reader.has("most")) spec.most = reader.count("most");
}

// One bag per sample is what a factor of the sample stretches.
void check_common(const LengthSpec& spec, const Table& table, const Place& place) {
  const auto several = [](const Feature& feature) { return feature.num_poolings != 1; };
  if (!spec.common || std::ranges::none_of(table.features, several)) return;
  throw input_error(place, "lengths cannot be common if a feature has several bags per sample",
                    "Write common: false or num_poolings: 1");
}

bool has_common_lengths(const Table& table) {
  return table.lengths.common;
}

}  // namespace

LengthSpec read_length_distribution(MapReader reader, const std::string& folder, const Table& table) {
  LengthSpec spec;
  spec.family = reader.choice("family", length_families(), "fixed");
  if (spec.family == "log_normal") read_log_normal(reader, spec);
  if (spec.family == "negative_binomial")
    spec.size = reader.real("size", Bounds::from(kLeastLengthSize).to(kMostLengthSize));
  if (spec.family == "uniform_int") {
    spec.low = reader.count("low", Bounds::from(0));
    spec.high = reader.count("high", Bounds::from(0));
  }
  if (spec.family == "histogram") spec.lengths = read_histogram(reader);
  if (spec.family == "file") spec.file = read_length_file(reader, folder);
  spec.common = reader.flag("common", false);
  reader.finish();
  check_common(spec, table, reader.tree().place);
  if (spec.family == "file") return spec;
  for (const Feature& feature : table.features) LengthLaw(spec, feature.pooling_factor, reader.tree().place);
  return spec;
}

void read_sample_factor(MapReader& reader, Workload& workload) {
  const auto common = std::ranges::find_if(workload.tables, has_common_lengths);
  if (!reader.has("sample_factor")) {
    if (common == workload.tables.end()) return;
    throw input_error(common->place,
                      fmt::format("table '{}' has common lengths, but the workload has no sample_factor", common->name),
                      "Write sample_factor: {sigma: ...} in the workload, or leave 'common' out");
  }
  MapReader inner = reader.map("sample_factor");
  const SampleFactor factor{inner.real("sigma", Bounds::above(0).to(kMostFactorSigma))};
  inner.finish();
  if (common == workload.tables.end())
    throw input_error(reader.place_of("sample_factor"), "sample_factor has no effect: no table has common lengths",
                      "Write length_distribution.common: true in the tables whose lengths vary together");
  workload.sample_factor = factor;
}

void read_row_order(MapReader& reader, Table& table) {
  // The law is that of the rows, after any hashing of raw ids: hashed rows are in random order.
  const std::string order = reader.choice("row_order", {"random", "popularity", "hashed"}, "random");
  table.row_order = order == "popularity" ? RowOrder::popularity : RowOrder::random;
}

void read_bag_ids(MapReader& reader, Table& table) {
  if (reader.choice("bag_ids", {"independent", "first_id"}, "independent") == "independent") return;
  table.bag_ids = BagIds::first_id;
  const double size = table.features.front().pooling_factor;
  const bool whole = size == static_cast<double>(static_cast<std::int64_t>(std::min(size, 1e15)));
  const bool one = table.kind == TableKind::pooled && table.features.size() == 1 && table.lengths.family == "fixed";
  if (one && whole && size <= static_cast<double>(kMostBag)) return;
  throw input_error(
      reader.place_of("bag_ids"), "the ids of a bag cannot follow from its first id in this table",
      fmt::format("bag_ids: first_id needs a pooled table with one feature, whose pooling_factor is whole, "
                  "fixed and at most {}",
                  kMostBag));
}

}  // namespace shardsim
