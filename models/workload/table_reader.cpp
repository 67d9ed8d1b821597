#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "models/workload/model_name.h"
#include "models/workload/workload_limits.h"
#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostCopies = 100'000;
constexpr double kLeastLength = 1e-9;    // ids per sample: below it nothing is ever looked up
constexpr double kMostCopiedRows = 1e8;  // listed or counted rows of all copies: 800 MB

// Values of a table, which hold for the features that do not state their own.
struct OfTable {
  double factor = 1;  // the pooling factor
  std::optional<std::int64_t> batch = {};
};

void feature_keys(Fields& map, Feature& feature, TableKind kind, const OfTable& usual) {
  map.need("name", feature.name, model_name_leaf(), "the feature");
  if (!map.where(kind == TableKind::pooled)) {
    for (const char* const key : {"pooling_factor", "num_poolings", "weighted", "weight_gradient", "batch"})
      map.refuse_if(map.reader().has(key), key, fmt::format("'{}' only features of pooled tables have this key", key),
                    "A sequence table states its average_length");
  }
  feature.pooling_factor = usual.factor;
  feature.batch = usual.batch;
  map.usual("that of the table")
      .take("batch", feature.batch, count_leaf(Bounds::from(1).to(kMostBatchPerGpu)),
            "only pooled tables: samples of a rank that have the feature, at most `batch_per_gpu`; TorchRec's "
            "`stride_per_key` ([lowering.md](../lowering.md#batches-of-features))");
  map.usual("that of the table")
      .take("pooling_factor", feature.pooling_factor, above_zero_leaf(),
            "only pooled tables: items of a bag, on average");
  map.take("num_poolings", feature.num_poolings, above_zero_leaf(), "only pooled tables: bags of a sample");
  map.take("weighted", feature.weighted, "only pooled tables: each item has a weight, which is exchanged with its id");
  map.take("weight_gradient", feature.weight_gradient,
           "only weighted features: the backward pass computes the gradient of each item's weight, as FBGEMM does for "
           "all weights, whether they are trained or come with the batch "
           "([lowering.md](../lowering.md#gradients-of-weights)). HugeCTR and `per_table` compute none");
  if (!feature.weighted)
    map.refuse("weight_gradient", "'weight_gradient' has no effect: the feature has no weights",
               "Write weighted: true, or leave it out");
}

Shape features_shape() {
  Shape item;
  Fields map(item);
  Feature feature;
  feature_keys(map, feature, TableKind::pooled, {});
  item.forms = {{Form::Kind::map}, model_name_leaf().form};
  return list_shape(item, Bounds::from(1));
}

Feature read_feature(const Tree& item, const std::string& path, TableKind kind, const OfTable& usual) {
  Feature feature{.name = "", .pooling_factor = usual.factor, .batch = usual.batch};
  if (item.kind != Tree::Kind::map) {
    feature.name = model_name_leaf()(item);
    return feature;
  }
  MapReader reader(item, path);
  Fields map(reader);
  feature_keys(map, feature, kind, usual);
  reader.finish();
  return feature;
}

void read_features(MapReader& reader, Table& table, const OfTable& usual) {
  table.features = {{.name = table.name, .pooling_factor = usual.factor, .batch = usual.batch}};
  if (!reader.has("features")) return;
  table.features.clear();
  std::set<std::string> seen;
  for (const Tree& item : reader.list("features", Bounds::from(1))) {
    const std::string path = fmt::format("{}.features.{}", reader.path(), table.features.size());
    table.features.push_back(read_feature(item, path, table.kind, usual));
    if (!seen.insert(table.features.back().name).second)
      throw input_error(item.place, fmt::format("feature '{}' is there twice", table.features.back().name),
                        "Name every feature of a table once");
  }
}

void features_key(Fields& map, Table& table, const OfTable& usual) {
  map.usual("[the table's name]")
      .custom("features", features_shape(),
              "names, or maps. A feature that several tables name is one input, as in TorchRec: its ids are copied to "
              "the GPU once, and exchanged for each of the tables. So it has the same number of ids in all of them "
              "(`pooling_factor` x `num_poolings`, or the `average_length` of a sequence over its features); other "
              "numbers are refused");
  if (map.reading()) read_features(map.reader(), table, usual);
}

// Each share is of more rows, and of no fewer accesses, than the one before it.
void share_keys(Fields& map, const std::vector<ObservedAccess::Share>& shares, ObservedAccess::Share& share,
                std::uint64_t table_rows) {
  std::int64_t rows = 0;
  map.need("rows", rows, from_one_leaf(), "so many of the most popular rows");
  map.need("share", share.share, share_leaf(Bounds::above(0).to(1)), "their part of all accesses");
  share.rows = static_cast<std::uint64_t>(rows);
  map.refuse_if(share.rows > table_rows, "",
                fmt::format("a share of {} rows, the table has {}", share.rows, table_rows),
                "Give at most the table's rows");
  map.refuse_if(share.rows == table_rows && share.share < 1, "",
                fmt::format("{} of {} rows have the share {}", share.rows, table_rows, share.share),
                "The share of all rows together is 1");
  if (shares.size() < 2) return;
  const ObservedAccess::Share& last = shares[shares.size() - 2];
  map.refuse_if(share.rows <= last.rows || share.share < last.share, "",
                fmt::format("the share of {} rows is not above the share of fewer rows", share.rows),
                "List the shares by rising number of rows; they must rise, too");
}

void runtime_keys(Fields& map, ObservedAccess& observed, const Table& table) {
  if (map.reading()) observed.average_length = table.average_length;
  map.usual("planned L")
      .take("average_length", observed.average_length, above_zero_leaf(), "observed items per sample");
  map.need("source", observed.source, text_leaf(), "where this was observed");
  map.list(
      "shares", observed.shares, Bounds::from(0),
      "the part of all accesses that the given number of most popular rows get; both rise, and shares are in "
      "(0, 1]",
      [&](Fields& inside, ObservedAccess::Share& share) { share_keys(inside, observed.shares, share, table.rows); });
}

// True when each of the table's features states its own pooling factor, so that the table's own would change nothing.
bool all_state_pooling_factor(MapReader& reader) {
  if (!reader.has("features")) return false;
  return std::ranges::all_of(reader.list("features", Bounds::from(1)), [](const Tree& item) {
    return item.kind == Tree::Kind::map && item.find("pooling_factor") != nullptr;
  });
}

void refuse_keys_of_other_kind(Fields& map, const Table& table) {
  if (!map.reading()) return;
  if (table.kind == TableKind::sequence) {
    map.refuse("pooling", "'pooling' only pooled tables have this key", "Leave it out, or write kind: pooled");
    map.refuse("pooling_factor", "'pooling_factor' only pooled tables have this key",
               "A sequence table states its average_length");
    map.refuse("batch", "'batch' only pooled tables have this key", "Leave it out");
    return;
  }
  map.refuse("average_length", "'average_length' only sequence tables have this key",
             "A pooled table states its pooling_factor");
  map.refuse("index_dedup", "'index_dedup' only sequence tables have this key",
             "Leave it out: TorchRec exchanges the ids of pooled tables as they are");
  if (all_state_pooling_factor(map.reader()))
    map.refuse("pooling_factor", "'pooling_factor' has no effect: each of the table's features states its own",
               "Leave one of them out: the pooling_factor of the table holds for the features that state none");
}

// L as the file gives it; 0 where an absolute law may say it.
double given_length(const Table& table, const std::optional<double>& stated) {
  if (table.kind == TableKind::sequence) return stated.value_or(0);
  double length = 0;
  for (const Feature& feature : table.features) length += feature.ids();
  return length;
}

void find_length(const MapReader& reader, Table& table, const std::optional<double>& stated) {
  const double given = given_length(table, stated);
  table.average_length = AccessDistribution(table.access, table.rows, given, reader.place_of("access")).total();
  if (table.average_length < kLeastLength)
    throw input_error(table.place, fmt::format("table '{}' has {:g} ids per sample", table.name, table.average_length),
                      fmt::format("Give {:g} or more, or leave the table out", kLeastLength));
  if (table.kind == TableKind::pooled) return;
  for (Feature& feature : table.features)
    feature.pooling_factor = table.average_length / static_cast<double>(table.features.size());
}

// The law of accesses and the mean length of bags.
void bag_keys(Fields& map, Table& table, const std::string& folder) {
  std::optional<double> length;
  OfTable usual;
  if (map.reading()) table.access_stated = map.reader().has("access");
  map.usual("{family: uniform}")
      .map("access",
           "how often each row is accessed: [Access distributions](#access-distributions). Learned costs (`cost-model "
           "sample`, and planners that use a file of costs or a policy) require that it is stated",
           [&](Fields& inside) {
             access_keys(inside, table.access, {table.rows, folder, table.row_order == RowOrder::popularity});
           });
  refuse_keys_of_other_kind(map, table);
  map.usual("the sum of p")
      .take("average_length", length, above_zero_leaf(),
            "only sequence tables: L, the items per sample over all features. Required if the [access "
            "distribution](#access-distributions) does not define it");
  map.refuse_if(table.kind == TableKind::sequence && !length && !table.access.absolute(), "",
                "the table has no average_length",
                fmt::format("Access family '{}' does not say it: give the mean items per sample", table.access.family));
  map.usual("`batch_per_gpu`")
      .take("batch", usual.batch, count_leaf(Bounds::from(1).to(kMostBatchPerGpu)),
            "only pooled tables: samples of a rank that have each feature which does not state its own");
  map.take("pooling_factor", usual.factor, above_zero_leaf(),
           "only pooled tables: items per sample of each feature that does not state its own. Refused if all features "
           "state their own");
  map.choose("pooling", table.pooling, {"sum", "mean"}, "only pooled tables");
  features_key(map, table, usual);
  if (map.reading()) find_length(map.reader(), table, length);
}

// How ids are numbered. The law is that of the rows, after any hashing of raw ids: hashed rows are in random order.
void row_order_key(Fields& map, Table& table) {
  std::string order = "random";
  map.choose("row_order", order, {"random", "popularity", "hashed"},
             "how ids are numbered: in random order, or by falling popularity, so that id 0 is the most frequent row. "
             "If raw ids are hashed, state the distribution of the rows after hashing; they are then in random order "
             "(`hashed` is read as `random`). `popularity` is refused if listed or counted rows are in another order");
  table.row_order = order == "popularity" ? RowOrder::popularity : RowOrder::random;
}

void table_keys(Fields& map, Table& table, const std::string& folder, const TableDefaults& defaults) {
  std::int64_t rows = 0;
  map.need("name", table.name, model_name_leaf(), "unique in the workload");
  map.need("rows", rows, from_one_leaf(), "up to 2^53");
  table.rows = static_cast<std::uint64_t>(rows);
  map.need("dim", table.dim, from_one_leaf(), "number of columns");
  map.take("dtype", table.dtype, "data type of the rows");
  map.need("kind", table.kind,
           "whether a lookup returns one row per item (sequence), or one vector per feature and sample (pooled)");
  row_order_key(map, table);
  bag_keys(map, table, folder);
  map.usual("{family: fixed}")
      .map("length_distribution",
           "[how long bags are](#lengths-of-bags). It has an effect on drawn batches (`load` of a scenario) and on "
           "[attention](#dense). Otherwise every sample of the expected batch has the mean length, and a note says so",
           [&](Fields& inside) { length_keys(inside, table.lengths, folder, table); });
  bag_ids_key(map, table);
  map.take(
      "sharded", table.sharded,
      "false: the table is an `nn.EmbeddingBag` or `nn.Embedding` outside of TorchRec's modules. No planner places "
      "it and no plan file has it; DDP replicates it, with its gradient in the buckets of the dense part "
      "([lowering.md](../lowering.md#tables-that-are-not-sharded))");
  table.index_dedup = table.kind == TableKind::sequence && defaults.index_dedup && table.sharded;
  map.usual("that of the workload")
      .take("index_dedup", table.index_dedup,
            "only sequence tables: each rank asks for an id once per batch, however often the batch contains it, and "
            "copies its vector ([lowering.md](../lowering.md#ids-that-come-twice)); TorchRec's `use_index_dedup`. Not "
            "with `hugectr_hybrid`. The validator does not execute it");
  map.usual("that of `modules`")
      .take("module", table.module, model_name_leaf(),
            "the path of the table's module in plan files, for models with several modules of a kind. The "
            "simulation fuses the exchanges of all modules of a kind, unless `modules` says `exchanges: each`. "
            "Tables of one name in several modules are called `MODULE.NAME` in the workload, and have their own "
            "name in plan files");
  map.usual("{}").map(
      "wire_dtype",
      "the data types on the wire, where they differ from those of the workload: in TorchRec each sharder, "
      "so each module, has codecs of its own. Tables of different types are exchanged one after the other",
      [&](Fields& inside) { table_wire_keys(inside, table); });
  map.map("runtime", table.runtime, "[what was observed](#runtime) in training",
          [&](Fields& inside, ObservedAccess& observed) { runtime_keys(inside, observed, table); });
}

void copies_key(Fields& map, std::optional<std::int64_t>& copies) {
  map.take("copies", copies, count_leaf(Bounds::from(1).to(kMostCopies)),
           "makes this number of equal tables, `NAME_0`, `NAME_1` ..., each with features of its own (`FEATURE_0`, "
           "`FEATURE_1` ...)");
}

}  // namespace

Shape tables_shape() {
  Shape item;
  Fields map(item);
  Table table;
  std::optional<std::int64_t> copies;
  table_keys(map, table, "", {});
  copies_key(map, copies);
  item.forms = {{Form::Kind::map}};
  return list_shape(item, Bounds::from(1));
}

std::vector<Table> read_tables_entry(MapReader reader, const std::string& folder, const TableDefaults& defaults) {
  Table table;
  std::optional<std::int64_t> stated;
  table.place = reader.tree().place;
  Fields map(reader);
  table_keys(map, table, folder, defaults);
  copies_key(map, stated);
  reader.finish();
  if (!stated) return {table};
  const bool own_feature = !reader.has("features");
  const std::int64_t copies = *stated;
  const double listed = static_cast<double>(copies) * static_cast<double>(table.access.p.size());
  if (listed > kMostCopiedRows)
    throw input_error(reader.place_of("copies"), fmt::format("{} copies are too many", copies),
                      "Give fewer of a table whose rows are listed or counted");
  const std::size_t each = weight_of(table);
  if (static_cast<std::size_t>(copies) * each > kMostTableWeight)
    throw input_error(reader.place_of("copies"), fmt::format("{} copies of {} features and knots", copies, each),
                      fmt::format("Give at most {} copies of this table", kMostTableWeight / each));
  std::vector<Table> tables(static_cast<std::size_t>(copies), table);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i].name = fmt::format("{}_{}", table.name, i);
    for (Feature& feature : tables[i].features)
      feature.name = own_feature ? tables[i].name : fmt::format("{}_{}", feature.name, i);
  }
  return tables;
}

}  // namespace shardsim
