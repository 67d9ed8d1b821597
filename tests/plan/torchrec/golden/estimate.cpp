#include <fmt/format.h>

#include "plan/torchrec/estimate/sharding_option.h"
#include "plan/torchrec/spec/names.h"
#include "tests/case_file/compare.h"
#include "tests/plan/torchrec/golden/dtype.h"
#include "tests/plan/torchrec/golden/failure_name.h"
#include "tests/plan/torchrec/golden/inputs.h"
#include "tests/plan/torchrec/golden/kinds.h"

namespace shardsim::golden {
namespace {

using torchrec::ShardingOption;
using torchrec::ShardRun;
using torchrec::TableSpec;

std::optional<double> maybe_real(Fields& fields, const char* key) {
  const Json* value = fields.given(key);
  return value ? std::optional(value->get<double>()) : std::nullopt;
}

std::optional<torchrec::WireBytes> wire(Fields& fields, const char* key) {
  const Json* pair = fields.given(key);
  if (pair == nullptr) return std::nullopt;
  return torchrec::WireBytes{pair->at(0).get<double>(), pair->at(1).get<double>()};
}

void read_wires(TableSpec& table, const Json* json) {
  if (json == nullptr) return;
  Fields fields(*json, "qcomm_bytes");
  table.all_to_all = wire(fields, "a2a");
  table.reduce_scatter = wire(fields, "rs");
  table.sequence_all_to_all = wire(fields, "seq_a2a");
  fields.finish();
}

void read_cache(TableSpec& table, Fields& fields) {
  table.cache_load_factor = maybe_real(fields, "cache_load_factor");
  table.sharder_cache_load_factor = maybe_real(fields, "sharder_cache_load_factor");
  table.prefetch_pipeline = fields.flag("prefetch_pipeline", false);
  table.prefetch_passes = maybe_real(fields, "multipass_num_passes");
  if (const Json* given = fields.given("cache_stats")) {
    Fields stats(*given, "cache_stats");
    const double rate = stats.real("miss_rate");
    table.cache_statistics = {stats.real("expected_lookups"), 0, [rate](double) { return rate; }};
    stats.finish();
  }
}

TableSpec read_table(Fields& fields) {
  TableSpec table;
  table.name = "t";
  table.rows = fields.whole("rows");
  table.dim = fields.whole("dim");
  fields.ignore({"dtype"});
  table.element_bytes = fields.real("element_bytes");
  table.pooled = fields.flag("pooled", true);
  table.weighted = fields.flag("weighted", false);
  table.pooling_factors = fields.reals("pooling_factors");
  table.num_poolings = fields.reals("num_poolings");
  table.batch_sizes = fields.reals("batch_sizes");
  if (const Json* least = fields.given("min_partition")) table.min_partition = least->get<std::int64_t>();
  table.optimizer = optimizer_of(fields.text("optimizer"));
  if (const Json* dtype = fields.given("output_dtype")) table.output_element_bytes = dtype_bytes(*dtype);
  read_wires(table, fields.given("qcomm_bytes"));
  if (const Json* cache = fields.given("kv_max_l1_cache_size_mb")) table.max_l1_cache_mb = cache->get<double>();
  table.use_virtual_table = fields.flag("use_virtual_table", false);
  if (const Json* buckets = fields.given("num_buckets")) table.num_buckets = buckets->get<std::int64_t>();
  read_cache(table, fields);
  return table;
}

torchrec::Topology topology_of(Fields& fields, torchrec::PlannerVersion version) {
  torchrec::Topology topology = read_topology(fields.at("topology"), version);
  const Json* custom = fields.given("custom_hbm_cap_per_rank");
  if (custom == nullptr) return topology;
  topology.uneven = true;
  for (std::size_t i = 0; i < topology.devices.size(); ++i) topology.devices[i].hbm = custom->at(i);
  return topology;
}

Json shard_json(const ShardRun& run, int first_index) {
  Json perf = perf_json(run.perf);
  perf["total"] = run.perf.total();
  return {{"first_index", first_index},     {"count", run.count},
          {"size", {run.rows, run.cols}},   {"offset", {run.row_offset, run.col_offset}},
          {"input_bytes", run.input_bytes}, {"output_bytes", run.output_bytes},
          {"hbm_bytes", run.storage.hbm},   {"ddr_bytes", run.storage.ddr},
          {"ssd_bytes", run.storage.ssd},   {"perf_ms", perf}};
}

bool alike(const ShardRun& a, const ShardRun& b) {
  return a.rows == b.rows && a.cols == b.cols && a.input_bytes == b.input_bytes && a.output_bytes == b.output_bytes &&
         a.storage == b.storage && a.perf == b.perf;
}

// The file joins shards that are alike across column blocks, too.
Json shards_json(const ShardingOption& option) {
  std::vector<ShardRun> runs;
  for (const ShardRun& run : option.runs) {
    if (!runs.empty() && alike(runs.back(), run)) {
      runs.back().count += run.count;
    } else {
      runs.push_back(run);
    }
  }
  Json list = Json::array();
  int first = 0;
  for (const ShardRun& run : runs) {
    list.push_back(shard_json(run, first));
    first += run.count;
  }
  return list;
}

Json option_json(const ShardingOption& option) {
  return {{"num_shards", option.shards},         {"partition_by", rule_name(option.partition)},
          {"total_hbm_bytes", option.total.hbm}, {"total_ddr_bytes", option.total.ddr},
          {"total_ssd_bytes", option.total.ssd}, {"total_perf_ms", option.sum},
          {"shards", shards_json(option)}};
}

Json estimate(const Json& input, torchrec::PlannerVersion version) {
  Fields fields(input, "input");
  const TableSpec table = read_table(fields);
  const torchrec::Topology topology = topology_of(fields, version);
  torchrec::EstimateSettings settings;
  settings.version = version;
  settings.fetches_by_batch_inputs = fields.flag("use_batch_inputs_for_expected_cache_fetches", false);
  settings.batch_size = fields.real("batch_size");
  settings.pipeline = torchrec::parse_pipeline(fields.text("pipeline_type"), {"input"});
  settings.run_embedding_at_peak_memory = fields.flag("run_embedding_at_peak_memory", false);
  settings.inference = fields.flag("is_inference", false);
  const auto type = torchrec::parse_sharding_type(fields.text("sharding_type"), {"input"});
  const auto kernel = torchrec::parse_compute_kernel(fields.text("compute_kernel"), {"input"});
  fields.finish();
  try {
    return option_json(estimate_option(table, 0, type, kernel, topology, settings));
  } catch (const torchrec::PlannerError& error) {
    return error_json(error.failure(), version);
  }
}

}  // namespace

std::vector<std::string> check_estimate(const Json& input, const Json& expect, torchrec::PlannerVersion version) {
  return differences(expect, estimate(input, version));
}

}  // namespace shardsim::golden
