#include "tests/plan/torchrec/golden/run_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "plan/torchrec/report/text.h"
#include "tests/plan/torchrec/golden/failure_name.h"

namespace shardsim::golden {
namespace {

using namespace torchrec;

using Json = nlohmann::ordered_json;

std::string placement_text(int rank, const Topology& topology) {
  if (topology.device == Device::cpu) return fmt::format("rank:{}/cpu", rank);
  return fmt::format("rank:{}/{}:{}", rank, name_of(topology.device), rank % topology.local_world_size);
}

Json entry_json(const ShardingOption& option, std::span<const int> ranks, const Topology& topology) {
  Json entry = {{"sharding_type", name_of(option.type)},
                {"compute_kernel", name_of(option.kernel)},
                {"ranks", std::vector<int>(ranks.begin(), ranks.end())}};
  if (option.type == ShardingType::data_parallel) return entry;
  Json shards = Json::array();
  for (const ShardRun& run : option.runs) {
    for (int i = 0; i < run.count; ++i) {
      shards.push_back({{"shard_offsets", {run.row_offset_of(i), run.col_offset_of(i)}},
                        {"shard_sizes", {run.rows, run.cols}},
                        {"placement", placement_text(ranks[shards.size()], topology)}});
    }
  }
  entry["shards"] = shards;
  return entry;
}

Json placement_error_json(const PlacementFailure& failure) {
  Json json = {{"rule", rule_name(failure.rule)},
               {"table", failure.table},
               {"shard_hbm_bytes", failure.shard.hbm},
               {"shard_ddr_bytes", failure.shard.ddr}};
  if (failure.rule == PartitionBy::host || failure.rule == PartitionBy::multi_host) return json;
  json["shard_size"] = {failure.run.rows, failure.run.cols};
  json["shard_offset"] = {failure.run.row_offset_of(failure.index), failure.run.col_offset_of(failure.index)};
  json["perf_ms"] = {{"fwd_compute", failure.run.perf.fwd_compute},
                     {"fwd_comms", failure.run.perf.fwd_comms},
                     {"bwd_compute", failure.run.perf.bwd_compute},
                     {"bwd_comms", failure.run.perf.bwd_comms},
                     {"prefetch_compute", failure.run.perf.prefetch_compute}};
  json["device_hbm_bytes"] = failure.device.hbm;
  json["device_ddr_bytes"] = failure.device.ddr;
  return json;
}

}  // namespace

std::string sharding_plan_json(const RunResult& run, const Topology& topology) {
  Json modules = Json::object();
  for (std::size_t i = 0; i < run.plan.size(); ++i) {
    const TableSpec& table = run.space.table_of(run.plan[i]);
    modules[table.module][table.name] = entry_json(run.plan[i], run.assignment.of(i), topology);
  }
  return Json{{"plan", modules}}.dump();
}

// Sums over ranks in doubles: the capacities of a large world pass 2^63 bytes sooner than their shares do.
std::string failure_report_json(const RunResult& run, const RunSettings& settings) {
  const Topology& topology = settings.topology;
  double hbm = 0, free_hbm = 0, free_ddr = 0;
  for (const Storage& device : topology.devices) hbm += static_cast<double>(device.hbm);
  for (const Storage& device : run.reservation.topology.devices) {
    free_hbm += static_cast<double>(device.hbm);
    free_ddr += static_cast<double>(device.ddr);
  }
  Json json = {{"devices", topology.world_size},
               {"global_hbm_gb", rounded_gigabytes(hbm)},
               {"rank_hbm_gb", rounded_gigabytes(topology.devices.front().hbm)},
               {"rank_ddr_gb", rounded_gigabytes(topology.devices.front().ddr)},
               {"reserved_fraction", reserved_share(settings.reservation, settings.topology)},
               {"dense_hbm_gb", rounded_gigabytes(run.reservation.dense.hbm)},
               {"dense_ddr_gb", rounded_gigabytes(run.reservation.dense.ddr)},
               {"kjt_hbm_gb", rounded_gigabytes(run.reservation.kjt.hbm)},
               {"kjt_ddr_gb", rounded_gigabytes(run.reservation.kjt.ddr)},
               {"available_hbm_gb", rounded_gigabytes(free_hbm)},
               {"available_ddr_gb", rounded_gigabytes(free_ddr)},
               {"required_hbm_gb", rounded_gigabytes(run.lowest.hbm)},
               {"required_ddr_gb", rounded_gigabytes(run.lowest.ddr)},
               {"local_batch_size", settings.estimate.batch_size}};
  if (run.last_error) json["last_error"] = placement_error_json(*run.last_error);
  return json.dump();
}

}  // namespace shardsim::golden
