#include "accuracy/measurements/calls/measured_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>

#include "base/csv.h"
#include "base/files.h"
#include "base/statistics.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "models/compute/gpus/kernel_family.h"
#include "models/learned/label_file.h"
#include "study/planning/shard_work.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

constexpr double kLongestUs = 1e9, kMostSamples = 1e9, kMostTables = 1e4, kMostTableRows = 1e12, kMostDim = 1e5;
constexpr double kMostPooling = 1e6, kMostZipf = 20;
constexpr int kFittedOf = 3;                               // of so many rows of a set, the first one fits
constexpr const char* kNeverFitted = "executor300_b4096";  // a set that judges alone
constexpr const char* kOneGpu = "a100_80gb_single";        // a shipped cluster of one GPU, whatever it is

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
const std::vector<std::string> kGridColumns = {"kind",           "tables",  "dim",     "pooling", "batch",
                                               "rows_per_table", "zipf",    "lookups", "fwd_us",  "bwd_us",
                                               "fwd_min",        "fwd_max", "bwd_min", "bwd_max"};

bool has_columns(const CsvTable& table, const std::vector<std::string>& columns) {
  return std::ranges::all_of(columns, [&](const std::string& name) { return table.column(name).has_value(); });
}

// Every column must be one that is known: a table of another kind must not be half-used.
void check_columns(const CsvTable& table, const std::vector<std::string>& needed,
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

// One row of a table by the names of its columns.
class Cells {
 public:
  Cells(const CsvTable& table, const CsvTable::Row& row) : table_(table), row_(row) {}
  const std::string& text(std::string_view column) const { return row_.cells[*table_.column(column)]; }
  Place place(std::string_view column) const { return row_.cell_place(*table_.column(column)); }
  double number(std::string_view column, const Bounds& bounds) const {
    const double value = parse_real(text(column), place(column));
    refuse_outside(bounds, value, text(column), place(column));
    return value;
  }
  std::int64_t count(std::string_view column, double most) const {
    const std::int64_t value = parse_count(text(column), place(column));
    refuse_outside(Bounds::from(1).to(most), static_cast<double>(value), text(column), place(column));
    return value;
  }

 private:
  const CsvTable& table_;
  const CsvTable::Row& row_;
};

// A cluster of this GPU alone: what a call takes does not depend on others.
Cluster cluster_of_one(const GpuSpec& gpu) {
  ClusterSpec spec = read_cluster(load_named(kOneGpu, "clusters", "", {}));
  spec.gpu = gpu;
  spec.gpu.count = 1;
  return Cluster(spec);
}

// The places of rows within their sets say which of them fit.
class SetPlaces {
 public:
  bool next_fits(const std::string& set) { return count_[set]++ % kFittedOf == 0 && set != kNeverFitted; }

 private:
  std::map<std::string, int> count_;
};

void take_work(MeasuredCall& call, const ShardWork& work) {
  call.lookup = work.lookup();
  call.update = work.update();
}

GpuSpec gpu_named(const std::string& name, const Place& place) {
  const GpuTable table = shipped_gpu_table();
  if (const GpuConstants* const found = table.find(name)) return spec_of(*found);
  throw input_error(place, "no constants of the GPU " + excerpt(name), known_names_hint(name, table.names()));
}

// The GPU that the rows name; --cluster, if given, has to be one of the same entry.
GpuSpec gpu_of(const std::string& named, const Place& place, const CallHints& hints) {
  const GpuSpec of_row = gpu_named(named, place);
  if (hints.gpu.model.empty()) return of_row;
  if (gpu_named(hints.gpu.model, place).model == of_row.model) return hints.gpu;
  throw input_error(place, fmt::format("the row is of {}, and the cluster has {}", excerpt(named), hints.gpu.model),
                    "Name a cluster of the same GPU, or none");
}

// ---------------------------------------------------------------------------------------------- shards of a workload

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

std::string shape_text(std::size_t tables, double batch) {
  return fmt::format("{}, batch {:.0f}", counted(tables, "table"), batch);
}

// The work of shards by their batch; pieces that several shards have are lowered once.
class WorksByBatch {
 public:
  WorksByBatch(Workload workload, const GpuSpec& gpu) : workload_(std::move(workload)), cluster_(cluster_of_one(gpu)) {}

  ShardWork of(const Shard& shard, std::int64_t batch, const std::string& optimizer) {
    auto& works = by_batch_[{batch, optimizer}];
    workload_.optimizer = optimizer;
    if (!works) works = std::make_unique<ShardWorks>(workload_, batch, cluster_, true);
    return works->of(shard);
  }

 private:
  Workload workload_;
  Cluster cluster_;
  std::map<std::pair<std::int64_t, std::string>, std::unique_ptr<ShardWorks>> by_batch_;  // and optimizer
};

// The optimizer that a row names, whatever the workload trains with; without the column exact row-wise Adagrad.
std::string optimizer_of(const CsvTable& table, const Cells& cells) {
  if (!table.column(kOptimizerColumn)) return kUsualOptimizer;
  const std::string& name = cells.text(kOptimizerColumn);
  const std::vector<std::string> known{"adagrad", "adam", "lamb", "rowwise_adagrad", "sgd"};
  if (std::ranges::find(known, name) != known.end()) return name;
  throw input_error(cells.place(kOptimizerColumn), "unknown optimizer " + excerpt(name), known_names_hint(name, known));
}

Workload measured_workload(const CsvTable& table, const CallHints& hints) {
  if (hints.workload == nullptr)
    throw input_error(table.place, "the rows name tables of a workload", "Name it with --workload, as metasyn_856");
  Workload workload = *hints.workload;
  workload.optimizer = kUsualOptimizer;
  return workload;
}

const std::string& only_gpu(const CsvTable& table) {
  if (table.rows.empty()) throw input_error(table.place, "the table has no rows", "Give at least one");
  const std::string& first = Cells(table, table.rows.front()).text("gpu");
  for (const CsvTable::Row& row : table.rows) {
    const Cells cells(table, row);
    if (cells.text("gpu") == first) continue;
    throw input_error(cells.place("gpu"), "rows of several GPUs", "Give the rows of each in a file of their own");
  }
  return first;
}

// Bags of other lengths than the workload's: somebody drew the ids of a set by another law, or for other tables. Few
// rows, and those of short bags, are too uncertain to tell.
class LengthsOfSets {
 public:
  void add(const std::string& set, const Cells& cells, const Shard& shard, const Workload& workload) {
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
Shard shard_of_row(const CsvTable& table, const Cells& cells, const Workload& workload, LengthsOfSets& lengths) {
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

void add_shards(const CsvTable& table, const CallHints& hints, MeasuredCalls& result) {
  check_columns(table, kShardNeeds, kShardColumns);
  const Workload workload = measured_workload(table, hints);
  result.gpu = gpu_of(only_gpu(table), table.rows.front().place, hints);
  WorksByBatch works(workload, result.gpu);
  SetPlaces places;
  LengthsOfSets lengths;
  for (const CsvTable::Row& row : table.rows) {
    const Cells cells(table, row);
    MeasuredCall call;
    call.place = row.place;
    call.set = cells.text("set");
    const std::int64_t batch = cells.count("batch", kMostSamples);
    const Shard shard = shard_of_row(table, cells, workload, lengths);
    call.shape = shape_text(shard.size(), static_cast<double>(batch));
    call.forward_us = cells.number("forward_us", Bounds::above(0).to(kLongestUs));
    call.backward_us = cells.number("backward_us", Bounds::above(0).to(kLongestUs));
    call.fits = places.next_fits(call.set);
    call.teaches = !held_back(shape_of(shard));
    take_work(call, works.of(shard, batch, optimizer_of(table, cells)));
    result.calls.push_back(std::move(call));
  }
  lengths.check(workload);
}

constexpr double kMicroseconds = 1e-6;

void add_label(ShardSet& set, const Cells& cells, Shard shard) {
  set.shards.push_back(std::move(shard));
  const Bounds times = Bounds::above(0).to(kLongestUs);
  set.labels.emplace_back(ShardSeconds{kMicroseconds * cells.number("forward_us", times),
                                       kMicroseconds * cells.number("backward_us", times)});
}

// ------------------------------------------------------------------------------------------- tables that are alike

struct GridRow {
  bool sequence = false;
  std::int64_t tables = 0, dim = 0, batch = 0, rows = 0;
  double pooling = 0, zipf = 0;
};

GridRow grid_row(const Cells& cells) {
  GridRow row;
  const std::string& kind = cells.text("kind");
  if (kind != "pooled" && kind != "sequence")
    throw input_error(cells.place("kind"), "unknown kind " + excerpt(kind), "Write pooled or sequence");
  row.sequence = kind == "sequence";
  row.tables = cells.count("tables", kMostTables);
  row.dim = cells.count("dim", kMostDim);
  row.pooling = cells.number("pooling", Bounds::above(0).to(kMostPooling));
  row.batch = cells.count("batch", kMostSamples);
  row.rows = cells.count("rows_per_table", kMostTableRows);
  row.zipf = cells.number("zipf", Bounds::from(0).to(kMostZipf));
  return row;
}

Workload workload_of(const GridRow& row) {
  const std::string access = row.zipf > 0 ? fmt::format("{{family: zipf, s: {}}}", row.zipf) : "{family: uniform}";
  const std::string length = row.sequence ? fmt::format("kind: sequence, average_length: {}", row.pooling)
                                          : fmt::format("kind: pooled, pooling_factor: {}", row.pooling);
  return read_workload(
      parse_yaml(fmt::format("{{schema: shardsim.workload/1, name: grid, batch_per_gpu: {}, optimizer: {{name: "
                             "rowwise_adagrad}}, tables: [{{name: t, rows: {}, dim: {}, {}, access: {}}}]}}",
                             row.batch, row.rows, row.dim, length, access),
                 "grid"),
      "");
}

// The rows do not name their GPU: the cluster does, or else the name of the file ("grid_h100.csv").
GpuSpec gpu_of_grid(const CsvTable& table, const CallHints& hints) {
  if (!hints.gpu.model.empty()) return hints.gpu;
  const std::string name = std::filesystem::path(table.place.source).stem().string();
  const GpuTable gpus = shipped_gpu_table();
  if (const GpuConstants* const found = gpus.find(name)) return spec_of(*found);
  throw input_error(table.place, "neither the rows nor the name of the file say which GPU was measured",
                    "Name a cluster of it with --cluster");
}

void add_grid(const CsvTable& table, const CallHints& hints, MeasuredCalls& result) {
  check_columns(table, kGridColumns, kGridColumns);
  result.gpu = gpu_of_grid(table, hints);
  const Cluster cluster = cluster_of_one(result.gpu);
  SetPlaces places;
  for (const CsvTable::Row& row : table.rows) {
    const Cells cells(table, row);
    const GridRow grid = grid_row(cells);
    MeasuredCall call;
    call.place = row.place;
    call.set = grid.sequence ? "grid sequence" : "grid pooled";
    call.shape = fmt::format("{} x {} rows, D{}, L{:g}, batch {}, zipf {:g}", grid.tables, grid.rows, grid.dim,
                             grid.pooling, grid.batch, grid.zipf);
    call.forward_us = cells.number("fwd_us", Bounds::above(0).to(kLongestUs));
    call.backward_us = cells.number("bwd_us", Bounds::above(0).to(kLongestUs));
    call.fits = places.next_fits(call.set);
    const Shard shard(static_cast<std::size_t>(grid.tables), ShardPiece{0, grid.dim});
    take_work(call, ShardWorks(workload_of(grid), grid.batch, cluster, true).of(shard));
    result.calls.push_back(std::move(call));
  }
}

// ------------------------------------------------------------------------------------------------- labels of shards

void add_labels(const std::string& path, const CallHints& hints, MeasuredCalls& result) {
  const LabelFile file = read_label_file(path);
  const auto* const set = std::get_if<ShardSet>(&file);
  if (set == nullptr || !is_labelled(file))
    throw input_error({path}, "the file has no labels of shards", "Label them: shardsim-microbench --shards FILE");
  result.gpu = gpu_of(set->device, {path}, hints);
  WorksByBatch works(set->workload, result.gpu);
  for (std::size_t i = 0; i < set->shards.size(); ++i) {
    if (!set->labels[i]) continue;
    MeasuredCall call;
    call.place = {path};
    call.set = "shards " + set->provider;
    call.shape = shape_text(set->shards[i].size(), static_cast<double>(set->batch));
    call.forward_us = set->labels[i]->forward / kMicroseconds;
    call.backward_us = set->labels[i]->backward / kMicroseconds;
    call.fits = call.teaches = !held_back(shape_of(set->shards[i]));
    take_work(call, works.of(set->shards[i], set->batch, set->workload.optimizer));
    result.calls.push_back(std::move(call));
  }
  if (result.calls.empty())
    throw input_error({path}, "the file has no label of a shard: all of them are null", "Label them again");
}

bool is_csv(const std::string& path) {
  return path.ends_with(".csv");
}

}  // namespace

bool is_call_file(const std::string& path) {
  if (!is_file(path)) return false;  // nor what can be read only once
  if (path.ends_with(".json")) return true;
  if (!is_csv(path)) return false;
  const CsvTable table = parse_csv(read_file(path), path);
  return table.column("shard").has_value() || has_columns(table, {"kind", "rows_per_table"});
}

std::vector<ShardSet> read_measured_shards(const std::string& path, const Workload* workload) {
  const CsvTable table = parse_csv(read_file(path), path);
  check_columns(table, kShardNeeds, kShardColumns);
  const Workload pool = measured_workload(table, {workload, {}});
  const std::string device = gpu_named(only_gpu(table), table.rows.front().place).model;
  std::vector<ShardSet> sets;
  LengthsOfSets lengths;
  for (const CsvTable::Row& row : table.rows) {
    const Cells cells(table, row);
    const auto batch = cells.count("batch", kMostSamples);
    const std::string optimizer = optimizer_of(table, cells);
    const auto is_of = [&](const ShardSet& set) {
      return set.name == cells.text("set") && set.batch == batch && set.workload.optimizer == optimizer;
    };
    auto found = std::ranges::find_if(sets, is_of);
    if (found == sets.end()) {
      sets.push_back(
          {.workload = pool, .batch = batch, .law = {}, .shards = {}, .provider = "fbgemm", .device = device});
      found = std::prev(sets.end());
      found->file = path;
      found->name = cells.text("set");
      found->workload.optimizer = optimizer;
      found->row_alignment = shipped_kernel_family("fbgemm", row.place).row_alignment;
    }
    add_label(*found, cells, shard_of_row(table, cells, pool, lengths));
  }
  lengths.check(pool);
  return sets;
}

MeasuredCalls read_measured_calls(const std::string& path, const CallHints& hints) {
  MeasuredCalls result;
  result.path = path;
  result.kernels = path.ends_with(".json") ? "executor" : "fbgemm";
  if (path.ends_with(".json")) {
    add_labels(path, hints, result);
    return result;
  }
  const CsvTable table = parse_csv(read_file(path), path);
  table.column("shard") ? add_shards(table, hints, result) : add_grid(table, hints, result);
  if (result.calls.empty()) throw input_error({path}, "the table has no rows", "Give at least one");
  return result;
}

}  // namespace shardsim
