#include "accuracy/measurements/calls/measured_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>

#include "accuracy/measurements/calls/measured_shards.h"
#include "base/csv.h"
#include "base/files.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "models/compute/gpus/kernel_family.h"
#include "models/learned/label_file.h"
#include "study/planning/shard_work.h"
#include "study/scenario/scenario.h"

namespace shardsim {
namespace {

constexpr double kMostTables = 1e4, kMostTableRows = 1e12;
constexpr double kMostPooling = 1e6, kMostZipf = 20;
constexpr int kFittedOf = 3;                               // of so many rows of a set, the first one fits
constexpr const char* kNeverFitted = "executor300_b4096";  // a set that judges alone
constexpr const char* kOneGpu = "a100_80gb_single";        // a shipped cluster of one GPU, whatever it is

const std::vector<std::string> kGridColumns = {"kind",           "tables",  "dim",     "pooling", "batch",
                                               "rows_per_table", "zipf",    "lookups", "fwd_us",  "bwd_us",
                                               "fwd_min",        "fwd_max", "bwd_min", "bwd_max"};

bool has_columns(const CsvTable& table, const std::vector<std::string>& columns) {
  return std::ranges::all_of(columns, [&](const std::string& name) { return table.column(name).has_value(); });
}

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

// The GPU that the rows name; --cluster, if given, has to be one of the same entry.
GpuSpec gpu_of(const std::string& named, const Place& place, const CallHints& hints) {
  const GpuSpec of_row = gpu_named(named, place);
  if (hints.gpu.model.empty()) return of_row;
  if (gpu_named(hints.gpu.model, place).model == of_row.model) return hints.gpu;
  throw input_error(place, fmt::format("the row is of {}, and the cluster has {}", excerpt(named), hints.gpu.model),
                    "Name a cluster of the same GPU, or none");
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

void add_shards(const CsvTable& table, const CallHints& hints, MeasuredCalls& result) {
  const MeasuredShards shards = measured_shards(table, hints.workload);
  result.gpu = gpu_of(shards.gpu, table.rows.front().place, hints);
  WorksByBatch works(shards.workload, result.gpu);
  SetPlaces places;
  for (const MeasuredShard& row : shards.rows) {
    MeasuredCall call;
    call.place = row.place;
    call.set = row.set;
    call.shape = shape_text(row.shard.size(), static_cast<double>(row.batch));
    call.forward_us = row.forward_us;
    call.backward_us = row.backward_us;
    call.fits = places.next_fits(call.set);
    call.teaches = !held_back(shape_of(row.shard));
    take_work(call, works.of(row.shard, row.batch, row.optimizer));
    result.calls.push_back(std::move(call));
  }
}

// ------------------------------------------------------------------------------------------- tables that are alike

struct GridRow {
  bool sequence = false;
  std::int64_t tables = 0, dim = 0, batch = 0, rows = 0;
  double pooling = 0, zipf = 0;
};

GridRow grid_row(const CallCells& cells) {
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
  check_call_columns(table, kGridColumns, kGridColumns);
  result.gpu = gpu_of_grid(table, hints);
  const Cluster cluster = cluster_of_one(result.gpu);
  SetPlaces places;
  for (const CsvTable::Row& row : table.rows) {
    const CallCells cells(table, row);
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
    call.forward_us = set->labels[i]->forward / kCallMicrosecond;
    call.backward_us = set->labels[i]->backward / kCallMicrosecond;
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
