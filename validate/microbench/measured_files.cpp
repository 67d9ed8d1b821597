#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "validate/microbench/microbench.h"

namespace shardsim {
namespace {

constexpr const char* kHeader =
    "id,quality,gpu,gpu_named_by_source,software,op,num_tables,rows_per_table,dim_elements,batch_size_samples,"
    "pooling_factor_lookups_per_sample,weight_dtype,optimizer,index_distribution,cache_state,num_gpus,time_us,"
    "time_statistic,reported_bandwidth_GBps,reported_bandwidth_definition,derived_row_traffic_bytes,"
    "derived_row_bandwidth_GBps,measured_dram_traffic_bytes,source,notes\n";

struct Cells {
  std::string op;
  PointColumns sizes;
  std::string optimizer = "none", law, cache, statistic, notes;
  double time_us = 0;
  double traffic = 0;      // bytes; 0: none
  bool stands_in = false;  // by a kernel that says nothing of the library's: no fit may use it
};

std::string csv_row(const MeasuredSet& set, const Cells& cells, int number) {
  const PointColumns& s = cells.sizes;
  const std::string traffic = cells.traffic > 0 ? fmt::format("{:.0f}", cells.traffic) : "";
  const std::string rate = cells.traffic > 0 ? fmt::format("{:.4g}", cells.traffic / cells.time_us * 1e-3) : "";
  return fmt::format("s{:04},{},{},yes,{},{},{},{},{},{},{},{},{},{},{},{},{:.6g},{},,,{},{},,{},{}\n", number,
                     set.is_steady() && !cells.stands_in ? "A" : "C", csv_cell(set.device.name),
                     csv_cell(set.device.software), csv_cell(cells.op), s.tables, s.rows, s.dim, s.batch, s.pooling,
                     s.dtype, cells.optimizer, csv_cell(cells.law), csv_cell(cells.cache), set.device.num_gpus,
                     cells.time_us, csv_cell(cells.statistic), traffic, rate,
                     csv_cell("shardsim-microbench " + set.version), csv_cell(cells.notes));
}

std::string cache_text(const Rotation& rotation) {
  if (rotation.state == CacheState::warm) return "warm: same batch repeated";
  if (rotation.state == CacheState::flushed) return "flushed before every call";
  return fmt::format("rotated: {} copies in turn", rotation.copies);
}

std::string notes_of(const MeasuredPoint& measured) {
  const SampleStatistics& s = measured.statistics;
  std::string notes = fmt::format("P10 {:.6g}, P90 {:.6g}, min {:.6g}", s.p10, s.p90, s.min);
  if (measured.unsteady) notes += fmt::format("; unsteady: (P90 - P10) / median is {:.2f}", s.spread());
  if (measured.calls > 1) notes += fmt::format("; {} calls between two events", measured.calls);
  if (measured.rounds_us.size() > 1) {
    notes += "; medians of the rounds";
    for (const double us : measured.rounds_us) notes += fmt::format(" {:.6g}", us);
  }
  if (!measured.distinct.empty()) {
    std::int64_t distinct = 0;
    for (const std::int64_t rows : measured.distinct) distinct += rows;
    notes += fmt::format("; {} lookups of {} distinct rows", measured.point.lookups(), distinct);
  }
  return notes;
}

Cells cells_of(const MeasuredPoint& measured, bool library) {
  const BenchPoint& point = measured.point;
  Cells cells;
  cells.op = std::string(bench_op_name(point.op)) + (point.weighted ? ", weighted" : "");
  cells.sizes = point.columns();
  cells.optimizer = point.has_update() ? optimizer_name(point.optimizer) : "none";
  cells.law = point.has_tables() ? point.law.text() : "";
  cells.cache = cache_text(measured.rotation);
  cells.statistic = fmt::format("median of {}", measured.samples_us.size());
  cells.time_us = measured.statistics.median;
  if (point.has_tables()) cells.traffic = static_cast<double>(point.row_bytes());
  if (point.is_copy()) cells.traffic = static_cast<double>((point.op == BenchOp::copy ? 2 : 1) * point.m);
  cells.notes = notes_of(measured);
  cells.stands_in = point.op == BenchOp::gemm && !library;
  if (cells.stands_in) cells.notes += "; by a kernel that stands in for cuBLASLt";
  return cells;
}

Cells limit_cells(const std::string& op, double time_us, double bytes, const std::string& notes) {
  Cells cells;
  cells.op = op;
  cells.time_us = time_us;
  cells.traffic = bytes;
  cells.statistic = "best of several";
  cells.notes = notes;
  return cells;
}

}  // namespace

std::string measured_csv(const MeasuredSet& set) {
  constexpr double kGigabyte = 1e9;
  const DeviceLimits& limits = set.before;
  std::vector<Cells> rows;
  if (limits.copy_bandwidth > 0)
    rows.push_back(limit_cells("copy", kGigabyte / limits.copy_bandwidth * 1e6, kGigabyte, "read plus written"));
  if (limits.cache_bandwidth > 0)
    rows.push_back(
        limit_cells("cache_read", kGigabyte / limits.cache_bandwidth * 1e6, kGigabyte, "from the last cache"));
  rows.push_back(limit_cells("empty_call", limits.launch_floor_us, 0, "of nothing"));
  for (const MeasuredPoint& point : set.points) {
    rows.push_back(cells_of(point, set.device.library_products));
  }
  std::string text = kHeader;
  for (std::size_t row = 0; row < rows.size(); ++row) text += csv_row(set, rows[row], static_cast<int>(row) + 1);
  return text;
}

namespace {

using Json = nlohmann::ordered_json;

Json device_json(const DeviceFacts& device) {
  Json json{{"name", device.name},       {"software", device.software},         {"num_gpus", device.num_gpus},
            {"threads", device.threads}, {"memory_bytes", device.memory_bytes}, {"cache_bytes", device.cache_bytes}};
  for (const auto& [key, value] : device.more) json["more"][key] = value;
  return json;
}

Json limits_json(const DeviceLimits& limits) {
  return {{"copy_bytes_per_s", limits.copy_bandwidth},
          {"cache_read_bytes_per_s", limits.cache_bandwidth},
          {"launch_floor_us", limits.launch_floor_us}};
}

Json sizes_json(const BenchPoint& point) {
  Json json{{"batch", point.batch}, {"rows", Json::array()}, {"dim", Json::array()}, {"pooling", Json::array()}};
  for (const auto& table : point.tables) {
    json["rows"].push_back(table.rows);
    json["dim"].push_back(table.dim);
    json["pooling"].push_back(table.pooling);
  }
  return json;
}

Json point_json(const MeasuredPoint& measured) {
  const BenchPoint& point = measured.point;
  Json json{{"op", bench_op_name(point.op)}};
  if (!point.has_tables()) json.update({{"m", point.m}, {"n", point.n}, {"k", point.k}});
  if (point.op == BenchOp::gemm) json["precision"] = precision_name(point.precision);
  if (point.has_tables()) {
    json.update(sizes_json(point));
    json["dtype"] = element_name(point.type);
    json["optimizer"] = point.has_update() ? optimizer_name(point.optimizer) : "none";
    json["zipf"] = point.law.zipf;
    json["distinct_rows"] = measured.distinct;
    json["access_histogram"] = measured.access_histogram;
  }
  if (point.weighted) json["weighted"] = true;
  json["cache_state"] = cache_state_name(measured.rotation.state);
  json["copies"] = measured.rotation.copies;
  json["calls"] = measured.calls;
  json["unsteady"] = measured.unsteady;
  json["samples_us"] = measured.samples_us;
  json["rounds_us"] = measured.rounds_us;
  return json;
}

}  // namespace

std::string measured_json(const MeasuredSet& set) {
  Json json{{"schema", "shardsim.microbench/1"},
            {"version", set.version},
            {"date", set.date},
            {"seed", set.options.seed},
            {"device", device_json(set.device)}};
  json["limits_before"] = limits_json(set.before);
  json["limits_after"] = limits_json(set.after);
  json["drift"] = set.drift();
  json["stream"] = {{"lookup_us", set.stream.lookup_us}, {"read_us", set.stream.stream_us}};
  json["points"] = Json::array();
  for (const MeasuredPoint& point : set.points) json["points"].push_back(point_json(point));
  return json.dump(1) + "\n";
}

}  // namespace shardsim
