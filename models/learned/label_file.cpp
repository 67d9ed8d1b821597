#include "models/learned/label_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/map_reader.h"
#include "base/units.h"
#include "models/workload/table_fields.h"

namespace shardsim {
namespace {

using LabelJson = nlohmann::ordered_json;

constexpr const char* kShardSchema = "shardsim.shards/1";
constexpr const char* kExchangeSchema = "shardsim.exchanges/1";
constexpr std::int64_t kMostShardTables = 1'000'000, kMostColumns = 1'000'000;
constexpr double kMostRankColumns = 1e8;  // of all tables of a rank; as kMostExchangeBatch

// As a workload file states it, but for what lies in files beside that one: no file is needed beside this one. Counts
// stand as they were read, with `rescale` since pooling factors say the length; of lengths in a file nothing is drawn.
LabelJson table_json(Table table) {
  if (table.access.family == "counts") table.access.family = "explicit";
  table.access.rescale = table.access.absolute();
  if (table.lengths.family == "file") table.lengths = {};
  table.average_length = stated_length(table);
  LabelJson json;
  JsonWriter map{JsonSlot(json)};
  map.field("name", table.name);
  map.field("rows", table.rows);
  map.field("dim", table.dim);
  map.field("dtype", table.dtype);
  table_law_fields(map, table);
  return json;
}

LabelJson workload_json(const Workload& workload) {
  LabelJson json{{"schema", "shardsim.workload/1"},
                 {"name", workload.name},
                 {"batch_per_gpu", workload.batch_per_gpu},
                 {"optimizer", {{"name", workload.optimizer}}},
                 {"embedding_kernels", workload.embedding_kernels},
                 {"id_bytes", workload.id_bytes}};
  if (workload.sample_factor) json["sample_factor"] = {{"sigma", workload.sample_factor->sigma}};
  for (const Table& table : workload.tables) json["tables"].push_back(table_json(table));
  return json;
}

// To the picosecond: what is read and written again stays the same text.
double us_of(double seconds) {
  return std::round(1e12 * seconds) / 1e6;
}

std::string shard_text(const Shard& shard) {
  std::string text;
  for (const ShardPiece& piece : shard)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", piece.table, piece.columns);
  return text;
}

void add_labels(LabelJson& json, const ShardSet& set) {
  json["provider"] = set.provider;
  json["device"] = set.device;
  for (const auto& label : set.labels) {
    json["forward_us"].push_back(label ? LabelJson(us_of(label->forward)) : LabelJson());
    json["backward_us"].push_back(label ? LabelJson(us_of(label->backward)) : LabelJson());
  }
}

std::string label_text_of(const ShardSet& set) {
  LabelJson json{{"schema", kShardSchema},
                 {"workload", workload_json(set.workload)},
                 {"batch", set.batch},
                 {"seed", set.law.seed},
                 {"max_tables", set.law.max_tables},
                 {"max_dim", set.law.max_dim},
                 {"max_bytes", fmt::format("{} B", set.law.max_bytes)}};
  for (const Shard& shard : set.shards) json["shards"].push_back(shard_text(shard));
  if (!set.provider.empty()) add_labels(json, set);
  return json.dump(1) + "\n";
}

std::string numbers_text(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) text += (text.empty() ? "" : " ") + shortest(number);
  return text;
}

std::string in_us(std::vector<double> seconds) {
  for (double& value : seconds) value = us_of(value);
  return numbers_text(seconds);
}

std::string label_text_of(const ExchangeSet& set) {
  LabelJson json{{"schema", kExchangeSchema},
                 {"batch", set.batch},
                 {"ranks", set.law.ranks},
                 {"seed", set.law.seed},
                 {"max_dim", set.law.max_dim}};
  for (const Exchange& exchange : set.exchanges) {
    json["columns"].push_back(numbers_text(exchange.columns));
    json["starts_ms"].push_back(numbers_text(exchange.starts_ms));
  }
  if (set.provider.empty()) return json.dump(1) + "\n";
  json["provider"] = set.provider;
  json["device"] = set.device;
  json["topology"] = set.topology;
  for (const auto& label : set.labels) {
    json["forward_us"].push_back(label ? LabelJson(in_us(label->forward)) : LabelJson());
    json["backward_us"].push_back(label ? LabelJson(in_us(label->backward)) : LabelJson());
  }
  return json.dump(1) + "\n";
}

Error bad_text(const Place& place, const std::string& text, const char* expected) {
  return input_error(place, fmt::format("{} is not {}", excerpt(text), expected),
                     "Draw the file again: shardsim cost-model sample");
}

std::int64_t number_of(const std::string& text, std::int64_t least, std::int64_t end, const Place& place) {
  const std::int64_t number = parse_count(text, place);
  if (number < least || number >= end)
    throw input_error(place, fmt::format("{} lies outside {} to {}", number, least, end - 1), "Correct the shard");
  return number;
}

Shard read_shard(const std::string& text, std::size_t tables, const Place& place) {
  Shard shard;
  for (const std::string& piece : split(text, ' ')) {
    const std::vector<std::string> parts = split(piece, ':');
    if (parts.size() != 2) throw bad_text(place, text, "a shard: \"3:64 17:8\" has 64 columns of table 3 and 8 of 17");
    shard.push_back({static_cast<int>(number_of(parts[0], 0, static_cast<std::int64_t>(tables), place)),
                     number_of(parts[1], 1, kMostColumns, place)});
  }
  return shard;
}

constexpr double kLeastMicroseconds = 1e-6;  // to which labels are written
constexpr double kMostMicroseconds = 3.6e9;  // an hour

double label_seconds(const std::string& text, const Place& place) {
  const double us = parse_real(text, place);
  if (!(us > 0)) throw input_error(place, fmt::format("a label of {} us is not a time", us), "Label the file again");
  if (us < kLeastMicroseconds)
    throw input_error(place, fmt::format("a label of {} us is less than a picosecond", us), "Label the file again");
  if (us > kMostMicroseconds)
    throw input_error(place, fmt::format("a label of {} us is longer than an hour", us), "Label the file again");
  return 1e-6 * us;
}

double label_seconds(const Tree& tree) {
  return label_seconds(scalar_text(tree, "a time in us"), tree.place);
}

// A list with one entry per item, and null where there is no label yet.
const std::vector<Tree>& label_list(MapReader& reader, const char* key, std::size_t count) {
  const std::vector<Tree>& list = reader.list(key);
  if (list.size() == count) return list;
  throw input_error(reader.place_of(key), fmt::format("'{}' has {} entries for {}", key, list.size(), count),
                    "Label the file again");
}

// True when both lists have a label at a position. Errors: only one of them has.
bool has_label(const Tree& forward, const Tree& backward) {
  const bool none = forward.kind == Tree::Kind::null;
  if (none != (backward.kind == Tree::Kind::null))
    throw input_error(forward.place, "a label has only one of the forward and backward times", "Label the file again");
  return !none;
}

std::string read_provider(MapReader& reader) {
  if (reader.has("provider")) return reader.text("provider");
  if (!reader.has("forward_us")) return "";
  throw input_error(reader.place_of("forward_us"), "the file has labels but does not name their provider",
                    "Label the file again");
}

void read_labels(MapReader& reader, ShardSet& set) {
  set.labels.resize(set.shards.size());
  set.provider = read_provider(reader);
  if (set.provider.empty()) return;
  set.device = reader.text("device");
  if (set.device.empty())
    throw input_error(reader.place_of("device"), "the device of the labels has no name",
                      "Name the device that they were measured or computed for");
  const std::vector<Tree>& forward = label_list(reader, "forward_us", set.shards.size());
  const std::vector<Tree>& backward = label_list(reader, "backward_us", set.shards.size());
  for (std::size_t i = 0; i < set.shards.size(); ++i)
    if (has_label(forward[i], backward[i]))
      set.labels[i] = ShardSeconds{label_seconds(forward[i]), label_seconds(backward[i])};
}

void check_ids(MapReader& reader, const ShardSet& set) {
  if (!reader.has("ids")) return;
  const std::string law = reader.choice("ids", {kIdsByAccess, kIdsUniform});
  for (const Shard& shard : set.shards) check_id_law(law, shard, set.workload, reader.place_of("ids"));
}

ShardSet read_shards(MapReader& reader, const std::string& folder) {
  ShardSet set;
  set.workload = read_workload(reader.required("workload"), folder);
  set.batch = reader.count("batch");
  set.law.seed = static_cast<std::uint64_t>(reader.count("seed", Bounds::from(0)));
  set.law.max_tables =
      static_cast<int>(reader.count("max_tables", Bounds::from(1).to(static_cast<double>(kMostShardTables))));
  set.law.max_dim = reader.count("max_dim");
  set.law.max_bytes = reader.bytes("max_bytes").count;
  for (const Tree& item : reader.list("shards"))
    set.shards.push_back(read_shard(scalar_text(item, "a shard"), set.workload.tables.size(), item.place));
  set.law.count = static_cast<std::int64_t>(set.shards.size());
  check_ids(reader, set);
  read_labels(reader, set);
  return set;
}

std::vector<double> read_numbers(const Tree& tree, int ranks) {
  const std::string& text = scalar_text(tree, "numbers of each rank");
  std::vector<double> numbers;
  for (const std::string& part : split(text, ' ')) numbers.push_back(parse_real(part, tree.place));
  const bool negative = std::ranges::any_of(numbers, [](double number) { return number < 0; });
  if (negative || numbers.size() != static_cast<std::size_t>(ranks))
    throw bad_text(tree.place, text, "one number per rank, 0 or more");
  return numbers;
}

std::vector<double> read_columns(const Tree& tree, int ranks) {
  std::vector<double> columns = read_numbers(tree, ranks);
  for (const double count : columns)
    if (count != std::floor(count) || count > kMostRankColumns)
      throw bad_text(tree.place, tree.scalar,
                     fmt::format("a list of whole numbers of columns, at most {:.0f}", kMostRankColumns).c_str());
  return columns;
}

std::vector<double> read_starts(const Tree& tree, int ranks) {
  std::vector<double> starts = read_numbers(tree, ranks);
  if (std::ranges::max(starts) > kMostMicroseconds * 1e-3)
    throw bad_text(tree.place, tree.scalar, "a list of starts within an hour");
  if (std::ranges::min(starts) != 0) throw bad_text(tree.place, tree.scalar, "a list of starts, the earliest at 0");
  return starts;
}

std::vector<double> rank_seconds(const Tree& tree, int ranks) {
  const std::string& text = scalar_text(tree, "a time in us of each rank");
  std::vector<double> seconds;
  for (const std::string& part : split(text, ' ')) seconds.push_back(label_seconds(part, tree.place));
  if (seconds.size() != static_cast<std::size_t>(ranks)) throw bad_text(tree.place, text, "one time in us per rank");
  return seconds;
}

void read_labels(MapReader& reader, ExchangeSet& set) {
  set.labels.resize(set.exchanges.size());
  set.provider = read_provider(reader);
  if (set.provider.empty()) return;
  set.device = reader.text("device");
  set.topology = reader.text("topology");
  const std::vector<Tree>& forward = label_list(reader, "forward_us", set.exchanges.size());
  const std::vector<Tree>& backward = label_list(reader, "backward_us", set.exchanges.size());
  for (std::size_t i = 0; i < set.exchanges.size(); ++i)
    if (has_label(forward[i], backward[i]))
      set.labels[i] =
          ExchangeSeconds{rank_seconds(forward[i], set.law.ranks), rank_seconds(backward[i], set.law.ranks)};
}

ExchangeSet read_exchanges(MapReader& reader) {
  ExchangeSet set;
  set.batch = reader.count("batch", Bounds::from(1).to(kMostExchangeBatch));
  set.law.ranks = static_cast<int>(reader.count("ranks", Bounds::from(kLeastExchangeRanks).to(kMostExchangeRanks)));
  set.law.seed = static_cast<std::uint64_t>(reader.count("seed", Bounds::from(0)));
  set.law.max_dim = reader.count("max_dim");
  for (const Tree& item : reader.list("columns")) set.exchanges.push_back({read_columns(item, set.law.ranks), {}});
  const std::vector<Tree>& starts = label_list(reader, "starts_ms", set.exchanges.size());
  for (std::size_t i = 0; i < starts.size(); ++i) set.exchanges[i].starts_ms = read_starts(starts[i], set.law.ranks);
  set.law.count = static_cast<std::int64_t>(set.exchanges.size());
  read_labels(reader, set);
  return set;
}

}  // namespace

void check_id_law(const std::string& law, const Shard& shard, const Workload& workload, const Place& place) {
  if (law == kIdsByAccess) return;
  for (const ShardPiece& piece : shard) {
    const Table& table = workload.tables.at(static_cast<std::size_t>(piece.table));
    if (table.access.family == "uniform") continue;
    throw input_error(
        place,
        fmt::format("the ids of the labels were drawn evenly over the rows, but table '{}' is read by the "
                    "law {}",
                    table.name, table.access.family),
        "Give the workload by whose laws they were drawn (access: {family: uniform}), or measure them "
        "again");
  }
}

std::string label_file_text(const LabelFile& file) {
  return std::visit([](const auto& set) { return label_text_of(set); }, file);
}

bool is_labelled(const LabelFile& file) {
  return std::visit([](const auto& set) { return !set.provider.empty(); }, file);
}

LabelFile read_label_file(const std::string& path) {
  const Tree tree = read_json_file(path);
  MapReader reader(tree, "");
  const bool shards = reader.choice("schema", {kShardSchema, kExchangeSchema}) == kShardSchema;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  LabelFile file = shards ? LabelFile(read_shards(reader, folder)) : LabelFile(read_exchanges(reader));
  reader.finish();
  std::visit([&](auto& set) { set.file = path; }, file);
  return file;
}

}  // namespace shardsim
