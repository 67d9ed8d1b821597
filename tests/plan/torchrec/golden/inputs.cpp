#include "tests/plan/torchrec/golden/inputs.h"

namespace shardsim::golden {
namespace {

constexpr int kMostRanks = 1 << 20;

std::vector<std::int64_t> capacities(const Json& json, int world_size) {
  if (json.is_array()) return json.get<std::vector<std::int64_t>>();
  return std::vector<std::int64_t>(static_cast<std::size_t>(world_size), json.get<std::int64_t>());
}

}  // namespace

torchrec::Topology read_topology(const Json& json, torchrec::PlannerVersion version) {
  Fields fields(json, "topology");
  torchrec::Topology topology;
  topology.world_size = static_cast<int>(fields.whole("world_size"));
  topology.local_world_size = static_cast<int>(fields.whole("local_world_size"));
  if (topology.world_size < 1 || topology.world_size > kMostRanks || topology.local_world_size < 1)
    throw std::runtime_error("topology: no such world");
  topology.device = torchrec::parse_device(fields.text("compute_device"), {"topology"});
  topology.hbm_bandwidth = fields.real("hbm_mem_bw");
  topology.ddr_bandwidth = fields.real("ddr_mem_bw");
  topology.hbm_to_ddr_bandwidth = fields.real("hbm_to_ddr_mem_bw");
  topology.intra_host_bandwidth = fields.real("intra_host_bw");
  topology.inter_host_bandwidth = fields.real("inter_host_bw");
  topology.bwd_compute_multiplier = fields.real("bwd_compute_multiplier");
  topology.weighted_bwd_compute_multiplier = fields.real("weighted_feature_bwd_compute_multiplier");
  fields.given("uneven_sharding_perf_multiplier");
  const auto hbm = capacities(fields.at("hbm_cap_per_rank"), topology.world_size);
  const auto ddr = capacities(fields.at("ddr_cap_per_rank"), topology.world_size);
  const Json* ssd_cap = fields.given("ssd_cap_per_rank");
  const auto ssd = capacities(ssd_cap ? *ssd_cap : Json(torchrec::kSsdCap), topology.world_size);
  for (std::size_t i = 0; i < hbm.size(); ++i) topology.devices.push_back({hbm.at(i), ddr.at(i), ssd.at(i)});
  if (const Json* rate = fields.given("ssd_mem_bw")) topology.ssd_bandwidth = rate->get<double>();
  if (const Json* pod = fields.given("pod_size")) topology.pod_size = pod->get<int>();
  fields.finish();
  return as_seen_by(version, topology);
}

torchrec::ShardRun read_given_shard(const Json& json) {
  Fields fields(json, "shard");
  torchrec::ShardRun run;
  const Json* ssd = fields.given("ssd_bytes");
  run.storage = {fields.whole("hbm_bytes"), fields.whole("ddr_bytes"), ssd ? ssd->get<std::int64_t>() : 0};
  const auto perf = fields.reals("perf5");
  run.perf = {perf.at(0), perf.at(1), perf.at(2), perf.at(3), perf.at(4)};
  fields.finish();
  return run;
}

torchrec::ConstrainedTable plain_table(const std::string& name, const Json& json) {
  torchrec::ConstrainedTable item;
  item.table.name = name;
  item.table.rows = json.at("rows").get<std::int64_t>();
  item.table.dim = json.at("dim").get<std::int64_t>();
  return item;
}

std::vector<torchrec::ShardingType> types_of(const Json& names) {
  std::vector<torchrec::ShardingType> types;
  for (const Json& name : names) types.push_back(torchrec::parse_sharding_type(name.get<std::string>(), {"input"}));
  return types;
}

torchrec::EstimateSettings batches_of(std::int64_t batch_size) {
  torchrec::EstimateSettings settings;
  settings.version = torchrec::PlannerVersion::v2025_10;
  settings.batch_size = static_cast<double>(batch_size);
  return settings;
}

Json perf_json(const torchrec::Perf& perf) {
  return {{"fwd_compute", perf.fwd_compute},           {"fwd_comms", perf.fwd_comms},
          {"bwd_compute", perf.bwd_compute},           {"bwd_comms", perf.bwd_comms},
          {"prefetch_compute", perf.prefetch_compute}, {"input_dist_comms", perf.input_dist_comms}};
}

torchrec::Optimizer optimizer_of(const std::string& name) {
  for (const auto optimizer :
       {torchrec::Optimizer::none, torchrec::Optimizer::torch_sgd, torchrec::Optimizer::trec_sgd,
        torchrec::Optimizer::torch_adam, torchrec::Optimizer::trec_adam, torchrec::Optimizer::rowwise_adagrad,
        torchrec::Optimizer::torch_adagrad, torchrec::Optimizer::lamb}) {
    if (name_of(optimizer) == name) return optimizer;
  }
  throw std::runtime_error("unknown optimizer " + name);
}

torchrec::Topology default_topology(int world_size, std::int64_t hbm_cap) {
  torchrec::Topology topology;
  topology.world_size = topology.local_world_size = world_size;
  set_capacity(topology, hbm_cap, 0);
  return as_seen_by(torchrec::PlannerVersion::v2025_10, topology);
}

}  // namespace shardsim::golden
