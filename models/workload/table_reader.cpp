#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "models/workload/table_weight.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostCopies = 100'000;
constexpr double kLeastLength = 1e-9;    // ids per sample: below it nothing is ever looked up
constexpr double kMostCopiedRows = 1e8;  // listed or counted rows of all copies: 800 MB

void refuse(MapReader& reader, std::string_view key, std::string_view why, const std::string& remedy) {
  if (!reader.has(key)) return;
  throw input_error(reader.place_of(key), fmt::format("'{}' {}", key, why), remedy);
}

Feature read_feature(const Tree& item, const std::string& path, const Table& table, double factor) {
  Feature feature{"", factor, 1, false};
  if (item.kind != Tree::Kind::map) {
    feature.name = text_leaf(kLabelRule)(item);
    return feature;
  }
  MapReader reader(item, path);
  feature.name = read_label(reader, "name");
  if (table.kind == TableKind::sequence) {
    for (const char* key : {"pooling_factor", "num_poolings", "weighted"})
      refuse(reader, key, "only features of pooled tables have this key", "A sequence table states its average_length");
  }
  feature.pooling_factor = read_positive(reader, "pooling_factor", factor);
  feature.num_poolings = read_positive(reader, "num_poolings", 1);
  feature.weighted = reader.flag("weighted", false);
  reader.finish();
  return feature;
}

std::vector<Feature> read_features(MapReader& reader, const Table& table, double factor) {
  if (!reader.has("features")) return {{table.name, factor, 1, false}};
  std::vector<Feature> features;
  std::set<std::string> seen;
  for (const Tree& item : reader.list("features", Bounds::from(1))) {
    const std::string path = fmt::format("{}.features.{}", reader.path(), features.size());
    features.push_back(read_feature(item, path, table, factor));
    if (!seen.insert(features.back().name).second)
      throw input_error(item.place, fmt::format("feature '{}' is there twice", features.back().name),
                        "Name every feature of a table once");
  }
  return features;
}

ObservedAccess::Share read_share(const Tree& item, const std::string& path, std::uint64_t rows) {
  MapReader reader(item, path);
  ObservedAccess::Share share;
  share.rows = static_cast<std::uint64_t>(reader.count("rows"));
  share.share = reader.get("share", share_leaf(Bounds::above(0).to(1)));
  reader.finish();
  if (share.rows > rows)
    throw input_error(item.place, fmt::format("a share of {} rows, the table has {}", share.rows, rows),
                      "Give at most the table's rows");
  if (share.rows == rows && share.share < 1)
    throw input_error(item.place, fmt::format("{} of {} rows have the share {}", share.rows, rows, share.share),
                      "The share of all rows together is 1");
  return share;
}

ObservedAccess read_runtime(MapReader reader, const Table& table) {
  ObservedAccess observed;
  observed.average_length = read_positive(reader, "average_length", table.average_length);
  observed.source = reader.text("source");
  if (reader.has("shares")) {
    for (const Tree& item : reader.list("shares")) {
      const std::string path = fmt::format("{}.shares.{}", reader.path(), observed.shares.size());
      const ObservedAccess::Share next = read_share(item, path, table.rows);
      if (!observed.shares.empty()) {
        const ObservedAccess::Share& last = observed.shares.back();
        if (next.rows <= last.rows || next.share < last.share)
          throw input_error(item.place,
                            fmt::format("the share of {} rows is not above the share of fewer rows", next.rows),
                            "List the shares by rising number of rows; they must rise, too");
      }
      observed.shares.push_back(next);
    }
  }
  reader.finish();
  return observed;
}

// True when each of the table's features states its own pooling factor, so that the table's own would change nothing.
bool all_state_pooling_factor(MapReader& reader) {
  if (!reader.has("features")) return false;
  return std::ranges::all_of(reader.list("features", Bounds::from(1)), [](const Tree& item) {
    return item.kind == Tree::Kind::map && item.find("pooling_factor") != nullptr;
  });
}

// L as the file gives it; 0 where an absolute law may say it.
double read_sequence_length(MapReader& reader, Table& table) {
  refuse(reader, "pooling", "only pooled tables have this key", "Leave it out, or write kind: pooled");
  refuse(reader, "pooling_factor", "only pooled tables have this key", "A sequence table states its average_length");
  if (!reader.has("average_length") && !table.access.absolute())
    throw input_error(
        table.place, "the table has no average_length",
        fmt::format("Access family '{}' does not say it: give the mean items per sample", table.access.family));
  const double length = read_positive(reader, "average_length", 0);
  table.features = read_features(reader, table, 1);
  return length;
}

double read_pooled_length(MapReader& reader, Table& table) {
  refuse(reader, "average_length", "only sequence tables have this key", "A pooled table states its pooling_factor");
  if (all_state_pooling_factor(reader))
    refuse(reader, "pooling_factor", "has no effect: each of the table's features states its own",
           "Leave one of them out: the pooling_factor of the table holds for the features that state none");
  table.pooling = reader.choice("pooling", {"sum", "mean"}, "sum");
  table.features = read_features(reader, table, read_positive(reader, "pooling_factor", 1));
  double length = 0;
  for (const Feature& feature : table.features) length += feature.pooling_factor * feature.num_poolings;
  return length;
}

void read_lengths(MapReader& reader, Table& table) {
  const bool sequence = table.kind == TableKind::sequence;
  const double given = sequence ? read_sequence_length(reader, table) : read_pooled_length(reader, table);
  table.average_length = AccessDistribution(table.access, table.rows, given, reader.place_of("access")).total();
  if (table.average_length < kLeastLength)
    throw input_error(table.place, fmt::format("table '{}' has {:g} ids per sample", table.name, table.average_length),
                      fmt::format("Give {:g} or more, or leave the table out", kLeastLength));
  if (!sequence) return;
  for (Feature& feature : table.features)
    feature.pooling_factor = table.average_length / static_cast<double>(table.features.size());
}

void read_index_dedup(MapReader& reader, Table& table, const TableDefaults& defaults) {
  if (table.kind == TableKind::pooled) {
    refuse(reader, "index_dedup", "only sequence tables have this key",
           "Leave it out: TorchRec exchanges the ids of pooled tables as they are");
    return;
  }
  table.index_dedup = reader.flag("index_dedup", defaults.index_dedup);
}

Table read_table(MapReader& reader, const std::string& folder, const TableDefaults& defaults) {
  Table table;
  table.place = reader.tree().place;
  table.name = read_label(reader, "name");
  table.rows = static_cast<std::uint64_t>(reader.count("rows"));
  table.dim = reader.count("dim");
  table.dtype = read_dtype(reader, "dtype").value_or(Dtype::fp32);
  const std::string kind = reader.choice("kind", {"sequence", "pooled"});
  table.kind = kind == "pooled" ? TableKind::pooled : TableKind::sequence;
  read_row_order(reader, table);
  table.access_stated = reader.has("access");
  table.access = read_access(reader.map("access"), table.rows, folder, table.row_order == RowOrder::popularity);
  read_lengths(reader, table);
  table.lengths = read_length_distribution(reader.map("length_distribution"), folder, table);
  read_bag_ids(reader, table);
  read_index_dedup(reader, table, defaults);
  if (reader.has("runtime")) table.runtime = read_runtime(reader.map("runtime"), table);
  return table;
}

}  // namespace

std::vector<Table> read_tables_entry(MapReader reader, const std::string& folder, const TableDefaults& defaults) {
  const Table table = read_table(reader, folder, defaults);
  const bool copied = reader.has("copies");
  const bool own_feature = !reader.has("features");
  const std::int64_t copies = reader.count("copies", Bounds::from(1).to(kMostCopies), 1);
  reader.finish();
  const double listed = static_cast<double>(copies) * static_cast<double>(table.access.p.size());
  if (copied && listed > kMostCopiedRows)
    throw input_error(reader.place_of("copies"), fmt::format("{} copies are too many", copies),
                      "Give fewer of a table whose rows are listed or counted");
  const std::size_t each = weight_of(table);
  if (copied && static_cast<std::size_t>(copies) * each > kMostTableWeight)
    throw input_error(reader.place_of("copies"), fmt::format("{} copies of {} features and knots", copies, each),
                      fmt::format("Give at most {} copies of this table", kMostTableWeight / each));
  if (!copied) return {table};
  std::vector<Table> tables(static_cast<std::size_t>(copies), table);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i].name = fmt::format("{}_{}", table.name, i);
    for (Feature& feature : tables[i].features)
      feature.name = own_feature ? tables[i].name : fmt::format("{}_{}", feature.name, i);
  }
  return tables;
}

}  // namespace shardsim
