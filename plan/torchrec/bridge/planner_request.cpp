#include "plan/torchrec/bridge/planner_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "plan/plan_file.h"

namespace shardsim::torchrec {
namespace {

constexpr double kPerMs = 1e-3;  // bytes per second to bytes per millisecond

Optimizer optimizer_of(const std::string& name) {
  if (name == "sgd") return Optimizer::trec_sgd;
  if (name == "adam") return Optimizer::trec_adam;
  if (name == "adagrad") return Optimizer::torch_adagrad;
  return name == "lamb" ? Optimizer::lamb : Optimizer::rowwise_adagrad;
}

// A wire type that the workload does not state stays unstated: TorchRec's planner then counts the rows' own type,
// though its lookups return fp32.
void add_wires(TableSpec& spec, const Table& table, const Workload& workload) {
  const auto& forward = table.wire_forward ? table.wire_forward : workload.wire_forward;
  const auto& backward = table.wire_backward ? table.wire_backward : workload.wire_backward;
  if (!forward && !backward) return;
  const auto bytes = [&](const std::optional<WireDtype>& wire) {
    return wire && wire->dtype ? static_cast<double>(dtype_bytes(*wire->dtype)) : spec.element_bytes;
  };
  const WireBytes wire{bytes(forward), bytes(backward)};
  spec.all_to_all = spec.reduce_scatter = spec.sequence_all_to_all = wire;
}

double host_link(const ClusterSpec& spec) {
  return spec.host.gpu_link_bandwidth ? spec.host.gpu_link_bandwidth->bytes_per_second
                                      : pcie_rate(spec.pcie).bytes_per_second;
}

double inside_host(const ClusterSpec& spec) {
  if (spec.nvlink.kind == NvlinkKind::none) return pcie_rate(spec.pcie).bytes_per_second;
  return spec.nvlink.per_link_effective.bytes_per_second * spec.nvlink.links_per_gpu;
}

double nic_rate_per_gpu(const ClusterSpec& spec) {
  if (!spec.nics) return inside_host(spec);  // one node: nothing leaves it
  const double rate = spec.nics->rate.bytes_per_second;
  if (spec.nics->per_gpu > 0) return rate * spec.nics->per_gpu;
  if (spec.nics->shared_by > 0) return rate / spec.nics->shared_by;
  return rate * spec.nics->per_node / spec.gpu.count;
}

// Where hosts share an NVLink domain a node of the cluster is the domain. TorchRec counts hosts, once they are stated.
void add_pods(Topology& topology, const TopologyOptions& options, const Cluster& cluster) {
  if (!options.pod_size) return;
  if (*options.pod_size > topology.world_size) {
    throw input_error(options.pod_size_place,
                      fmt::format("pod_size: {} hosts for {} ranks", *options.pod_size, topology.world_size),
                      "State how many hosts share an NVLink domain");
  }
  topology.pod_size = options.pod_size;
  if (cluster.spec().gpus_per_host > 0) topology.local_world_size = cluster.spec().gpus_per_host;
}

void set_stated_capacities(Topology& topology, const TopologyOptions& options) {
  const std::vector<Bytes>& ssd = options.ssd_cap;
  if (ssd.size() > 1 && ssd.size() != topology.devices.size()) {
    throw input_error(options.ssd_cap_place,
                      fmt::format("ssd_cap: {} values for {} ranks", ssd.size(), topology.devices.size()),
                      "State one for all ranks, or one for each");
  }
  for (std::size_t rank = 0; rank < topology.devices.size(); ++rank) {
    Storage& device = topology.devices[rank];
    if (options.hbm_cap) device.hbm = options.hbm_cap->count;
    if (options.ddr_cap) device.ddr = options.ddr_cap->count;
    if (!ssd.empty()) device.ssd = ssd[ssd.size() > 1 ? rank : 0].count;
  }
}

Topology with_options(Topology topology, const TopologyOptions& options, const Cluster& cluster) {
  const bool cpu = topology.device == Device::cpu;
  const auto of_cuda = [](const char* key) { return key == std::string_view("hbm_to_ddr_bandwidth"); };
  if (!cpu) topology.device = options.device;
  const auto refuse_unless = [&](bool has_effect, const char* key) {
    if (has_effect) return;
    throw input_error(options.place, fmt::format("'{}' has no effect on device {}", key, name_of(topology.device)),
                      "Leave it out");
  };
  refuse_unless(!cpu || !options.hbm_cap, "hbm_cap");
  refuse_unless(!cpu || !options.states_device, "device");
  for (const RateKey& rate : kRateKeys) {
    if (options.torchrec_rates) topology.*rate.rate = Topology{}.*rate.rate;
    const auto given = options.rates.find(rate.key);
    if (given == options.rates.end()) continue;
    const bool links = topology.device == Device::cuda || !of_cuda(rate.key);
    refuse_unless(cpu ? rate.on_cpu : rate.on_gpu && links, rate.key);
    topology.*rate.rate = given->second.bytes_per_second * 1e-3;
  }
  if (const auto ssd = options.rates.find("ssd_mem_bw"); ssd != options.rates.end()) {
    refuse_unless(topology.device == Device::cuda, "ssd_mem_bw");
    topology.ssd_bandwidth = ssd->second.bytes_per_second * 1e-3;
  }
  if (options.bwd_compute_multiplier) topology.bwd_compute_multiplier = *options.bwd_compute_multiplier;
  add_pods(topology, options, cluster);
  set_stated_capacities(topology, options);
  return topology;
}

void check_names(const PlannerOptions& options, const Workload& workload) {
  std::vector<std::string> names = {"*"};
  for (const Table& table : workload.tables) names.push_back(table.name);
  const std::unordered_set<std::string> known(names.begin(), names.end());
  for (const auto& [name, constraint] : options.constraints) {
    if (known.contains(name)) continue;
    const std::string likely = nearest(name, names);
    throw input_error(constraint.allowed.place, fmt::format("constraints: the workload has no table {}", excerpt(name)),
                      likely.empty() ? "Name a table of the workload, or \"*\" for all that are not named"
                                     : fmt::format("Did you mean '{}'?", likely));
  }
}

// Those of this table, else those of "*"; null where neither is there.
const ConstraintOptions* constraint_of(const std::string& table, const PlannerOptions& options) {
  auto found = options.constraints.find(table);
  if (found == options.constraints.end()) found = options.constraints.find("*");
  return found == options.constraints.end() ? nullptr : &found->second;
}

// "*" means the pooled tables alone.
void add_feature_processor(ConstrainedTable& table, const PlannerOptions& options) {
  const auto all = options.constraints.find("*");
  const bool by_star = all != options.constraints.end() && all->second.allowed.place == table.constraints.place;
  if (!table.table.pooled && by_star) return;
  if (!table.table.pooled) {
    throw input_error(
        table.constraints.place,
        fmt::format("table '{}' is a sequence, and TorchRec has feature processors for pooled tables alone",
                    table.table.name),
        "Leave feature_processor out");
  }
  table.table.feature_processed = table.table.weighted = true;
}

void constrain(ConstrainedTable& table, const PlannerOptions& options) {
  const ConstraintOptions* const found = constraint_of(table.table.name, options);
  if (found == nullptr) return;
  const ConstraintOptions& constraint = *found;
  table.constraints = constraint.allowed;
  if (constraint.min_partition) table.table.min_partition = *constraint.min_partition;
  if (constraint.cache_load_factor) table.table.cache_load_factor = constraint.cache_load_factor;
  if (constraint.output_element_bytes) table.table.output_element_bytes = constraint.output_element_bytes;
  if (constraint.max_l1_cache_size)
    table.table.max_l1_cache_mb = static_cast<double>(constraint.max_l1_cache_size->count) / (1 << 20);
  table.table.l2_cache = constraint.l2_cache_size.value_or(Bytes{});
  table.table.num_buckets = constraint.num_buckets;
  table.table.managed_collision = constraint.managed_collision;
  table.table.kernels_constrained = !constraint.allowed.compute_kernels.empty();
  if (constraint.feature_processor) add_feature_processor(table, options);
}

// TorchRec's planner leaves out the tables of another device group, for another planner to place. Here there is none.
void check_device(const ConstrainedTable& table, Device device) {
  const auto& group = table.constraints.device_group;
  if (!group || *group == device) return;
  throw input_error(table.constraints.place,
                    fmt::format("table '{}' is for device group {}, and this plan is for {}", table.table.name,
                                name_of(*group), name_of(device)),
                    "Leave device_group out; host memory is compute_kernels: [fused_uvm]");
}

}  // namespace

TableSpec table_spec(const Table& table, const Workload& workload) {
  TableSpec spec;
  spec.name = table.name;
  spec.pooled = table.kind == TableKind::pooled;
  spec.module = spec.pooled ? workload.pooled_module : workload.sequence_module;
  if (!table.module.empty()) spec.module = table.module;
  spec.rows = static_cast<std::int64_t>(table.rows);
  spec.dim = table.dim;
  spec.element_bytes = dtype_bytes(table.dtype);
  spec.optimizer = optimizer_of(workload.optimizer);
  spec.pooling_factors.clear();
  const bool own_batches = varies_batch(table, workload.batch_per_gpu);
  for (const Feature& feature : table.features) {
    spec.pooling_factors.push_back(feature.pooling_factor);
    spec.num_poolings.push_back(feature.num_poolings);
    spec.weighted = spec.weighted || feature.weighted;
    if (own_batches) spec.batch_sizes.push_back(static_cast<double>(batch_of(feature, workload.batch_per_gpu)));
  }
  add_wires(spec, table, workload);
  return spec;
}

PlannerRequest request_of(const Workload& workload) {
  PlannerRequest request;
  const std::vector<std::string> modules = module_paths(workload);
  for (const TableKind kind : {TableKind::sequence, TableKind::pooled}) {
    for (std::size_t i = 0; i < workload.tables.size(); ++i) {
      if (workload.tables[i].kind != kind) continue;
      request.tables.push_back({table_spec(workload.tables[i], workload), {}});
      request.tables.back().table.module = modules[i];
      request.order.push_back(i);
    }
  }
  return request;
}

EstimateSettings settings_for(const Workload& workload, EstimateSettings settings) {
  settings.batch_size = static_cast<double>(workload.batch_per_gpu);
  // HugeCTR holds the keys of two batches, as TrainPipelineSparseDist is taken to. TorchRec's planner has no word for
  // semi_sync, fused_sparse_dist and stages.
  const bool is_like_sparse_dist =
      workload.hugectr_pipeline() || workload.semi_sync() || workload.fused_sparse_dist() || workload.staged();
  const std::string pipeline = workload.fetches_ahead() ? "prefetch_sparse_dist"
                               : is_like_sparse_dist    ? "sparse_dist"
                                                        : workload.pipeline;
  settings.pipeline = parse_pipeline(pipeline, {"workload pipeline"});
  return settings;
}

Topology topology_of(const Cluster& cluster) {
  const ClusterSpec& spec = cluster.spec();
  Topology topology;
  topology.world_size = cluster.world_size();
  topology.local_world_size = cluster.ranks_per_node();
  topology.device = spec.device == "cpu" ? Device::cpu : Device::cuda;
  topology.hbm_bandwidth = spec.gpu.hbm_bandwidth.bytes_per_second * kPerMs;
  topology.ddr_bandwidth = spec.host.memory_bandwidth.bytes_per_second * kPerMs;
  topology.hbm_to_ddr_bandwidth = host_link(spec) * kPerMs;
  topology.intra_host_bandwidth = inside_host(spec) * kPerMs;
  topology.inter_host_bandwidth = nic_rate_per_gpu(spec) * kPerMs;
  const std::int64_t ddr = spec.host.memory ? spec.host.memory->count / spec.gpu.count : kDdrCap;
  set_capacity(topology, spec.gpu.hbm.count, ddr);
  return topology;
}

std::string output_types_note(const PlannerOptions& options, const Workload& workload) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> tables;
  for (const Table& table : workload.tables) {
    const ConstraintOptions* const found = constraint_of(table.name, options);
    if (found == nullptr || !found->output_element_bytes) continue;
    const Dtype simulated = forward_wire(workload, table);
    if (*found->output_element_bytes != dtype_bytes(simulated))
      tables.push_back(fmt::format("{} as {}", table.name, dtype_name(simulated)));
  }
  if (tables.empty()) return "";
  const std::size_t more = tables.size() > kShown ? tables.size() - kShown : 0;
  tables.resize(tables.size() - more);
  return fmt::format(
      "output_dtype in the planner's constraints changes only its estimates: the simulation exchanges vectors in the "
      "type that 'wire_dtype' of the workload states, which differs ({}{}).",
      join(tables), more > 0 ? fmt::format(" and {} more tables", more) : "");
}

PlannerRequest planner_request(const PlannerOptions& options, const Workload& workload, const Cluster& cluster) {
  check_names(options, workload);
  const Topology topology =
      as_seen_by(options.run.estimate.version, with_options(topology_of(cluster), options.topology, cluster));
  PlannerRequest request = request_of(workload);
  for (ConstrainedTable& table : request.tables) {
    constrain(table, options);
    check_device(table, topology.device);
  }
  RunSettings& settings = request.settings;
  settings = options.run;
  settings.topology = topology;
  settings.estimate = settings_for(workload, options.run.estimate);
  settings.reservation.dense_parameter_bytes = static_cast<double>(workload.dense.parameters.count);
  return request;
}

}  // namespace shardsim::torchrec
