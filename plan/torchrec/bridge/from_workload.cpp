#include "plan/plan_file.h"
#include "plan/torchrec/bridge/planner_options.h"

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

}  // namespace shardsim::torchrec
