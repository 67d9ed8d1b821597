#include "sim/program/program_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace shardsim {
namespace {

Dtype read_dtype(MapReader& reader) {
  static constexpr std::array kDtypes{Dtype::fp32, Dtype::fp16, Dtype::bf16, Dtype::int8};
  std::vector<std::string> names;
  for (const Dtype dtype : kDtypes) names.push_back(dtype_name(dtype));
  const std::string name = reader.choice("dtype", names);
  const Dtype dtype = kDtypes[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())];
  if (reader.count("dtype_bytes") != dtype_bytes(dtype)) {
    throw input_error(reader.place_of("dtype_bytes"), fmt::format("'dtype_bytes' does not fit dtype {}", name),
                      fmt::format("Write {}.", dtype_bytes(dtype)));
  }
  return dtype;
}

double above_zero(MapReader& reader, std::string_view key, double fallback) {
  const double value = reader.real(key, fallback);
  if (value > 0) return value;
  throw input_error(reader.place_of(key), fmt::format("'{}' is {}", key, value), "Write a number above 0.");
}

std::vector<Feature> read_features(MapReader& reader, const std::string& table_name) {
  if (!reader.has("features")) return default_features(table_name);
  std::vector<Feature> features;
  for (const Tree& item : reader.list("features")) {
    MapReader entry(item, reader.path() + ".features");
    Feature feature;
    feature.name = entry.text("name");
    feature.pooling_factor = above_zero(entry, "pooling_factor", 1);
    feature.num_poolings = above_zero(entry, "num_poolings", 1);
    feature.weighted = entry.flag("weighted", false);
    entry.finish();
    features.push_back(feature);
  }
  return features;
}

void read_length_distribution(MapReader& reader, Table& table) {
  if (!reader.has("length_distribution")) return;
  MapReader entry = reader.map("length_distribution");
  table.length_family = entry.text("family");
  table.length_sigma = entry.real("sigma", 0);
  table.length_file = entry.text("file", "");
  entry.finish();
}

std::optional<ObservedAccess> read_runtime(MapReader& reader) {
  if (!reader.has("runtime")) return std::nullopt;
  MapReader entry = reader.map("runtime");
  ObservedAccess observed;
  observed.average_length = entry.real("average_length");
  for (const Tree& item : entry.list("shares")) {
    MapReader share(item, entry.path() + ".shares");
    observed.shares.push_back({static_cast<std::uint64_t>(share.count("rows")), share.real("share")});
    share.finish();
  }
  observed.source = entry.text("source");
  entry.finish();
  return observed;
}

std::uint64_t read_hash_seed(MapReader& reader) {
  reader.required("hash");
  MapReader hash = reader.map("hash");
  hash.choice("name", {"feistel_splitmix/1"});
  hash.required("seed");
  const std::int64_t seed = hash.count_from("seed", 0, 1);
  hash.finish();
  return static_cast<std::uint64_t>(seed);
}

}  // namespace

std::vector<Feature> default_features(const std::string& table_name) {
  return {Feature{.name = table_name}};
}

double default_average_length(const Table& table) {
  if (table.kind == TableKind::pooled) {
    double length = 0;
    for (const Feature& feature : table.features) length += feature.pooling_factor * feature.num_poolings;
    return length;
  }
  return table.access.absolute() ? AccessDistribution(table.access, table.rows, 0, table.place).total() : 0;
}

ProgramTable read_program_table(const Tree& tree, const std::string& path) {
  MapReader reader(tree, path);
  ProgramTable result;
  Table& table = result.table;
  table.place = tree.place;
  table.name = reader.text("name");
  table.rows = static_cast<std::uint64_t>(reader.count("rows"));
  table.dim = reader.count("dim");
  table.dtype = read_dtype(reader);
  result.id_bytes = reader.count("id_bytes");
  table.kind = reader.choice("kind", {"pooled", "sequence"}) == "pooled" ? TableKind::pooled : TableKind::sequence;
  table.pooling = reader.choice("pooling", {"mean", "sum"}, "sum");
  table.features = read_features(reader, table.name);
  read_length_distribution(reader, table);
  reader.required("access");
  table.access = read_access(reader.map("access"), table.rows, "");
  table.average_length = reader.real("average_length", default_average_length(table));
  table.runtime = read_runtime(reader);
  result.hash_seed = read_hash_seed(reader);
  reader.finish();
  table.distribution();  // refuses probabilities that are no distribution
  return result;
}

}  // namespace shardsim
