// TopologyFactory of version 2026-08 (planner/types.py): which of the settings of a trainer, of the hardware and of the
// kernels makes the topology. Scenarios state the result (`topology`), so that no command of ours needs it.

#include "plan/torchrec/spec/topology.h"

#include <set>
#include <stdexcept>

#include "tests/case_file/compare.h"
#include "tests/plan/torchrec/golden/kinds.h"

namespace shardsim::golden {
namespace {

using namespace torchrec;

// Rates of hardware that states none, in bytes per ms: what the class has, which is no rate of any machine.
constexpr double kHardwareIntra = 200, kHardwareInter = 100;

// A Python error, by its class.
struct FactoryError {
  const char* name;
};

const Json& map_or_empty(const Json* json) {
  static const Json kEmpty = Json::object();
  return json == nullptr ? kEmpty : *json;
}

template <typename Value>
std::optional<Value> maybe_of(Fields& fields, const char* key) {
  const Json* value = fields.given(key);
  return value ? std::optional(value->get<Value>()) : std::nullopt;
}

struct Trainer {
  std::optional<int> world_size, local_world_size, pod_size;
  std::optional<std::int64_t> hbm, ddr, ssd, dry_run_hbm, dry_run_ddr;
  bool dry_run = false;
  Json custom = Json::object();
};

Trainer read_trainer(const Json& json) {
  Fields fields(json, "trainer");
  Trainer trainer;
  trainer.world_size = maybe_of<int>(fields, "world_size");
  trainer.local_world_size = maybe_of<int>(fields, "local_world_size");
  trainer.pod_size = maybe_of<int>(fields, "pod_size");
  trainer.hbm = maybe_of<std::int64_t>(fields, "hbm_cap_bytes");
  trainer.ddr = maybe_of<std::int64_t>(fields, "ddr_cap_bytes");
  trainer.ssd = maybe_of<std::int64_t>(fields, "ssd_cap_bytes");
  trainer.dry_run = fields.flag("is_dry_run", false);
  trainer.dry_run_hbm = maybe_of<std::int64_t>(fields, "dry_run_hbm_bytes");
  trainer.dry_run_ddr = maybe_of<std::int64_t>(fields, "dry_run_ddr_bytes");
  trainer.custom = map_or_empty(fields.given("custom_topology_data"));
  fields.finish();
  if (!trainer.world_size) throw FactoryError{"ValueError"};
  if (trainer.pod_size && *trainer.pod_size > *trainer.world_size) throw FactoryError{"ValueError"};
  return trainer;
}

struct Hardware {
  std::optional<std::int64_t> hbm, ddr, ssd;
  std::optional<double> hbm_rate, ddr_rate, ssd_rate, link_rate, intra, inter;
};

Hardware read_hardware(const Json& json) {
  Fields fields(json, "hardware");
  Hardware hardware;
  hardware.hbm = maybe_of<std::int64_t>(fields, "hbm_cap_bytes");
  hardware.ddr = maybe_of<std::int64_t>(fields, "ddr_cap_bytes");
  hardware.ssd = maybe_of<std::int64_t>(fields, "ssd_cap_bytes");
  hardware.hbm_rate = maybe_of<double>(fields, "hbm_mem_bw");
  hardware.ddr_rate = maybe_of<double>(fields, "ddr_mem_bw");
  hardware.ssd_rate = maybe_of<double>(fields, "ssd_mem_bw");
  hardware.link_rate = maybe_of<double>(fields, "hbm_to_ddr_mem_bw");
  hardware.intra = json.contains("intra_host_bw") ? maybe_of<double>(fields, "intra_host_bw") : kHardwareIntra;
  hardware.inter = json.contains("inter_host_bw") ? maybe_of<double>(fields, "inter_host_bw") : kHardwareInter;
  fields.finish();
  return hardware;
}

Device device_named(const std::string& name) {
  for (const Device device : {Device::cpu, Device::cuda, Device::mtia, Device::tpu}) {
    if (name_of(device) == name) return device;
  }
  throw FactoryError{"ValueError"};
}

void add_rates(Topology& topology, const Hardware& hardware) {
  topology.hbm_bandwidth = hardware.hbm_rate.value_or(kHbmBandwidth);
  topology.ddr_bandwidth = hardware.ddr_rate.value_or(kDdrBandwidth);
  topology.ssd_bandwidth = hardware.ssd_rate.value_or(kSsdBandwidth);
  topology.hbm_to_ddr_bandwidth = hardware.link_rate.value_or(kHbmToDdrBandwidth);
  topology.intra_host_bandwidth = hardware.intra.value_or(kIntraNodeBandwidth);
  topology.inter_host_bandwidth = hardware.inter.value_or(kCrossNodeBandwidth);
}

void read_kernel(Topology& topology, const Json& json, const Hardware& hardware) {
  Fields fields(json, "kernel");
  topology.device = device_named(fields.given("compute_device") ? fields.text("compute_device") : "cuda");
  if (fields.flag("use_hardware_based_bandwidth", false)) add_rates(topology, hardware);
  if (const auto factor = maybe_of<double>(fields, "bwd_compute_multiplier")) topology.bwd_compute_multiplier = *factor;
  if (const auto factor = maybe_of<double>(fields, "weighted_feature_bwd_compute_multiplier"))
    topology.weighted_bwd_compute_multiplier = *factor;
  fields.ignore({"uneven_sharding_perf_multiplier"});
  if (const Json* rates = fields.given("generalized_comms_bandwidths")) {
    topology.intra_host_bandwidth = rates->at("intra_host_bw").get<double>();
    topology.inter_host_bandwidth = rates->at("inter_host_bw").get<double>();
  }
  fields.finish();
}

void add_custom(Topology& topology, const Json& custom) {
  for (const auto& [key, values] : custom.items()) {
    const bool known = key == "hbm_cap" || key == "ddr_cap" || key == "ssd_cap";
    if (!known || values.size() != topology.devices.size()) throw FactoryError{"AssertionError"};
    for (std::size_t rank = 0; rank < topology.devices.size(); ++rank) {
      Storage& device = topology.devices[rank];
      (key == "hbm_cap" ? device.hbm : key == "ddr_cap" ? device.ddr : device.ssd) = values[rank];
    }
  }
}

Topology make(const Json& trainer_map, const Json& hardware_map, const Json& kernel_map) {
  const Trainer trainer = read_trainer(trainer_map);
  const Hardware hardware = read_hardware(hardware_map);
  Topology topology;
  topology.world_size = *trainer.world_size;
  topology.local_world_size =
      trainer.local_world_size.value_or(0) > 0 ? *trainer.local_world_size : *trainer.world_size;
  topology.pod_size = trainer.pod_size;
  read_kernel(topology, kernel_map, hardware);
  const auto capacity = [&](auto stated, auto found, auto dry_run, std::int64_t fallback) {
    if (trainer.dry_run && dry_run) return *dry_run;
    return stated ? *stated : found.value_or(fallback);
  };
  const std::optional<std::int64_t> none;
  const std::int64_t hbm = capacity(trainer.hbm, hardware.hbm, trainer.dry_run_hbm, kHbmCap);
  topology.devices.assign(
      static_cast<std::size_t>(topology.world_size),
      {topology.device == Device::cpu ? 0 : hbm, capacity(trainer.ddr, hardware.ddr, trainer.dry_run_ddr, kDdrCap),
       capacity(trainer.ssd, hardware.ssd, none, kSsdCap)});
  add_custom(topology, trainer.custom);
  return topology;
}

Json distinct(const Topology& topology, std::int64_t Storage::*part) {
  std::set<std::int64_t> values;
  for (const Storage& device : topology.devices) values.insert(device.*part);
  return Json(std::vector<std::int64_t>(values.begin(), values.end()));
}

Json topology_json(const Topology& topology) {
  return {{"world_size", topology.world_size},
          {"local_world_size", topology.local_world_size},
          {"intra_group_size", topology.group_size()},
          {"compute_device", name_of(topology.device)},
          {"hbm_per_rank", distinct(topology, &Storage::hbm)},
          {"ddr_per_rank", distinct(topology, &Storage::ddr)},
          {"ssd_per_rank", distinct(topology, &Storage::ssd)},
          {"hbm_mem_bw", topology.hbm_bandwidth},
          {"ddr_mem_bw", topology.ddr_bandwidth},
          {"ssd_mem_bw", *topology.ssd_bandwidth},
          {"hbm_to_ddr_mem_bw", topology.hbm_to_ddr_bandwidth},
          {"intra_host_bw", topology.intra_host_bandwidth},
          {"inter_host_bw", topology.inter_host_bandwidth},
          {"bwd_compute_multiplier", topology.bwd_compute_multiplier},
          {"weighted_feature_bwd_compute_multiplier", topology.weighted_bwd_compute_multiplier}};
}

}  // namespace

std::vector<std::string> check_topology(const Json& input, const Json& expect) {
  Fields fields(input, "input");
  const Json& trainer = fields.at("trainer");
  const Json& hardware = map_or_empty(fields.given("hardware"));
  const Json& kernel = map_or_empty(fields.given("kernel"));
  fields.finish();
  try {
    return differences(expect, topology_json(make(trainer, hardware, kernel)));
  } catch (const FactoryError& error) {
    return differences(expect, {{"error", error.name}});
  }
}

}  // namespace shardsim::golden
