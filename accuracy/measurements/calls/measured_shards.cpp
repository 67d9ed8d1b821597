#include "accuracy/measurements/calls/measured_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "base/files.h"
#include "base/statistics.h"
#include "base/text.h"
#include "models/compute/gpus/kernel_family.h"
#include "models/learned/label_file.h"

namespace shardsim {
namespace {

const std::vector<std::string> kShardColumns = {"gpu",
                                                "set",
                                                "batch",
                                                "shard",
                                                "lookups",
                                                "forward_us",
                                                "backward_us",
                                                "forward_min_us",
                                                "forward_max_us",
                                                "backward_min_us",
                                                "backward_max_us",
                                                "optimizer",
                                                "ids"};
// A table may lack the spread of its times, the optimizer of the updates where it is the usual one, and the law of its
// ids where it is the tables'.
const std::vector<std::string> kShardNeeds = {"gpu", "set", "batch", "shard", "lookups", "forward_us", "backward_us"};
constexpr const char* kIdsColumn = "ids";
constexpr const char* kOptimizerColumn = "optimizer";
constexpr const char* kUsualOptimizer = "rowwise_adagrad";
ShardPiece piece_of(const std::string& word, const Workload& workload, const Place& place) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos)
    throw input_error(place, "a shard has the part " + excerpt(word), "Write TABLE:DIM TABLE:DIM ...");
  const std::int64_t table = parse_count(word.substr(0, colon), place);
  const std::int64_t columns = parse_count(word.substr(colon + 1), place);
  if (table >= static_cast<std::int64_t>(workload.tables.size()))
    throw input_error(place, fmt::format("the shard names table {}", table),
                      fmt::format("The workload {} has tables 0 to {}", workload.name, workload.tables.size() - 1));
  if (columns < 1 || static_cast<double>(columns) > kMostDim)
    throw input_error(place, fmt::format("a part of the shard has {} columns", columns), "Give 1 to 100000");
  return {static_cast<int>(table), columns};
}

Shard shard_of(const std::string& text, const Workload& workload, const Place& place) {
  Shard shard;
  for (const std::string& word : split(text, ' '))
    if (!word.empty()) shard.push_back(piece_of(word, workload, place));
  if (shard.empty()) throw input_error(place, "the shard has no tables", "Write TABLE:DIM TABLE:DIM ...");
  return shard;
}

// The optimizer that a row names, whatever the workload trains with; without the column exact row-wise Adagrad.
std::string optimizer_of(const CsvTable& table, const CallCells& cells) {
  if (!table.column(kOptimizerColumn)) return kUsualOptimizer;
  const std::string& name = cells.text(kOptimizerColumn);
  const std::vector<std::string> known{"adagrad", "adam", "lamb", "rowwise_adagrad", "sgd"};
  if (std::ranges::find(known, name) != known.end()) return name;
  throw input_error(cells.place(kOptimizerColumn), "unknown optimizer " + excerpt(name), known_names_hint(name, known));
}

Workload measured_workload(const CsvTable& table, const Workload* of) {
  if (of == nullptr)
    throw input_error(table.place, "the rows name tables of a workload", "Name it with --workload, as metasyn_856");
  Workload workload = *of;
  workload.optimizer = kUsualOptimizer;
  return workload;
}

const std::string& only_gpu(const CsvTable& table) {
  if (table.rows.empty()) throw input_error(table.place, "the table has no rows", "Give at least one");
  const std::string& first = CallCells(table, table.rows.front()).text("gpu");
  for (const CsvTable::Row& row : table.rows) {
    const CallCells cells(table, row);
    if (cells.text("gpu") == first) continue;
    throw input_error(cells.place("gpu"), "rows of several GPUs", "Give the rows of each in a file of their own");
  }
  return first;
}

// Bags of other lengths than the workload's: somebody drew the ids of a set by another law, or for other tables. Few
// rows, and those of short bags, are too uncertain to tell.
class LengthsOfSets {
 public:
  void add(const std::string& set, const CallCells& cells, const Shard& shard, const Workload& workload) {
    double lookups = 0;
    for (const ShardPiece& piece : shard)
      lookups += workload.tables[static_cast<std::size_t>(piece.table)].average_length;
    lookups *= static_cast<double>(cells.count("batch", kMostSamples));
    if (lookups < kTellingLookups) return;
    Rows& rows = sets_.try_emplace(set, Rows{cells.place("lookups"), {}}).first->second;
    rows.ratios.push_back(cells.number("lookups", Bounds::from(0)) / lookups);
  }

  void check(const Workload& workload) const {
    for (const auto& [set, rows] : sets_) {
      if (rows.ratios.size() < kTellingRows) continue;
      const double ratio = median(rows.ratios);
      if (std::abs(ratio - 1) <= kSameLookups) continue;
      throw input_error(rows.place,
                        fmt::format("the rows of set {} have {:.3g} times the lookups that tables of workload {} have: "
                                    "their ids were drawn by another law",
                                    excerpt(set), ratio, workload.name),
                        "Name the workload that they were drawn for with --workload");
    }
  }

 private:
  static constexpr double kTellingLookups = 1000, kSameLookups = 0.02;
  static constexpr std::size_t kTellingRows = 5;
  struct Rows {
    Place place;
    std::vector<double> ratios;
  };
  std::map<std::string, Rows> sets_;
};

// A row's shard, whose ids were drawn by the laws of its tables.
Shard shard_of_row(const CsvTable& table, const CallCells& cells, const Workload& workload, LengthsOfSets& lengths) {
  const Shard shard = shard_of(cells.text("shard"), workload, cells.place("shard"));
  lengths.add(cells.text("set"), cells, shard, workload);
  if (!table.column(kIdsColumn)) return shard;
  const std::string& law = cells.text(kIdsColumn);
  const std::vector<std::string> known{kIdsByAccess, kIdsUniform};
  if (std::ranges::find(known, law) == known.end())
    throw input_error(cells.place(kIdsColumn), "unknown law of ids " + excerpt(law), known_names_hint(law, known));
  check_id_law(law, shard, workload, cells.place(kIdsColumn));
  return shard;
}

}  // namespace

void check_call_columns(const CsvTable& table, const std::vector<std::string>& needed,
                        const std::vector<std::string>& known) {
  std::string unknown;  // one of these may be a column that is missing, by another name
  for (const std::string& name : table.header)
    if (std::ranges::find(known, name) == known.end()) unknown += (unknown.empty() ? "" : ", ") + excerpt(name);
  require_columns(table, needed,
                  (unknown.empty() ? "" : "If it has another name, rename it; unknown here: " + unknown + ". ") +
                      "docs/formats/measurements.md has the columns of fused calls");
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    if (std::ranges::find(known, table.header[i]) != known.end()) continue;
    throw input_error({table.place.source, table.place.line, table.header_columns[i]},
                      "unknown column " + excerpt(table.header[i]),
                      known_names_hint(table.header[i], known) + " Or leave the column out");
  }
}

GpuSpec gpu_named(const std::string& name, const Place& place) {
  const GpuTable table = shipped_gpu_table();
  if (const GpuConstants* const found = table.find(name)) return spec_of(*found);
  throw input_error(place, "no constants of the GPU " + excerpt(name), known_names_hint(name, table.names()));
}

MeasuredShards measured_shards(const CsvTable& table, const Workload* workload) {
  check_call_columns(table, kShardNeeds, kShardColumns);
  MeasuredShards shards{measured_workload(table, workload), only_gpu(table), {}};
  const Bounds times = Bounds::above(0).to(kLongestUs);
  LengthsOfSets lengths;
  for (const CsvTable::Row& row : table.rows) {
    const CallCells cells(table, row);
    MeasuredShard of;
    of.place = row.place;
    of.set = cells.text("set");
    of.batch = cells.count("batch", kMostSamples);
    of.optimizer = optimizer_of(table, cells);
    of.shard = shard_of_row(table, cells, shards.workload, lengths);
    of.forward_us = cells.number("forward_us", times);
    of.backward_us = cells.number("backward_us", times);
    shards.rows.push_back(std::move(of));
  }
  lengths.check(shards.workload);
  return shards;
}

std::vector<ShardSet> read_measured_shards(const std::string& path, const Workload* workload) {
  const MeasuredShards shards = measured_shards(parse_csv(read_file(path), path), workload);
  std::vector<ShardSet> sets;
  for (const MeasuredShard& row : shards.rows) {
    const auto is_of = [&](const ShardSet& set) {
      return set.name == row.set && set.batch == row.batch && set.workload.optimizer == row.optimizer;
    };
    auto found = std::ranges::find_if(sets, is_of);
    if (found == sets.end()) {
      sets.push_back({.workload = shards.workload,
                      .batch = row.batch,
                      .law = {},
                      .shards = {},
                      .provider = "fbgemm",
                      .device = gpu_named(shards.gpu, row.place).model});
      found = std::prev(sets.end());
      found->file = path;
      found->name = row.set;
      found->workload.optimizer = row.optimizer;
      found->row_alignment = shipped_kernel_family("fbgemm", row.place).row_alignment;
    }
    found->shards.push_back(row.shard);
    found->labels.emplace_back(ShardSeconds{kCallMicrosecond * row.forward_us, kCallMicrosecond * row.backward_us});
  }
  return sets;
}

}  // namespace shardsim
