#include <nlohmann/json.hpp>

#include "validate/microbench/measured_csv.h"

namespace shardsim {
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
  if (point.op == BenchOp::gemm) json.update({{"m", point.m}, {"n", point.n}, {"k", point.k}});
  if (!point.has_tables() && point.op != BenchOp::gemm) json["bytes"] = point.bytes;
  if (point.has_tables()) {
    json.update(sizes_json(point));
    json["dtype"] = element_name(point.type);
    json["optimizer"] = point.has_update() ? optimizer_name(point.optimizer) : "none";
    json["zipf"] = point.law.zipf;
    json["distinct_rows"] = measured.distinct;
    json["access_histogram"] = measured.access_histogram;
  }
  json["flushed"] = !point.warm;
  json["unsteady"] = measured.unsteady;
  json["samples_us"] = measured.samples_us;
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
