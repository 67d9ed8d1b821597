#include "topology/spec/write_cluster.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "topology/spec/exact_text.h"
#include "topology/spec/spec_writer.h"

namespace shardsim {
namespace {

std::string list_text(const std::vector<int>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

std::string flops_text(const GpuSpec& gpu) {
  std::vector<std::string> rates;
  for (const auto& [dtype, rate] : gpu.flops) rates.push_back(dtype + ": " + yaml_quoted(exact_text(rate)));
  return "{" + join(rates) + "}";
}

void write_flops(SpecWriter& writer, const GpuSpec& gpu) {
  if (writer.is_sourced("gpu.flops")) return writer.put("flops", flops_text(gpu));
  writer.open("flops");
  for (const auto& [dtype, rate] : gpu.flops) writer.put_quantity(dtype, rate);
  writer.close();
}

void write_update_efficiency(SpecWriter& writer, const GpuSpec& gpu) {
  constexpr const char* kKey = "inplace_update_efficiency";
  std::vector<std::string> points;
  for (std::size_t i = 0; i < gpu.inplace_update_efficiency.size(); ++i) {
    const auto& point = gpu.inplace_update_efficiency[i];
    points.push_back(writer.item(
        kKey, i,
        {{"table_bytes", yaml_quoted(exact_text(point.table_bytes))}, {"efficiency", shortest(point.efficiency)}}));
  }
  writer.put_list(kKey, points);
}

void write_gpu(SpecWriter& writer, const GpuSpec& gpu) {
  writer.open("gpu");
  writer.put_text("model", gpu.model);
  writer.put_count("count", gpu.count);
  writer.put_text("compute_capability", gpu.compute_capability);
  writer.put_quantity("hbm", gpu.hbm);
  writer.put_quantity("reserved", gpu.reserved);
  writer.put_quantity("hbm_bandwidth", gpu.hbm_bandwidth);
  writer.put_quantity("copy_bandwidth", gpu.copy_bandwidth);
  writer.put_quantity("l2", gpu.l2);
  writer.put_quantity("l2_bandwidth", gpu.l2_bandwidth);
  writer.put_count("sm_count", gpu.sm_count);
  write_flops(writer, gpu);
  writer.put_real("flops_efficiency", gpu.flops_efficiency);
  writer.put_quantity("kernel_overhead", gpu.kernel_overhead);
  writer.put_quantity("launch_overhead", gpu.launch_overhead);
  writer.put_real("lookups_per_ns", gpu.lookups_per_ns);
  writer.put_quantity("sort_per_lookup", gpu.sort_per_lookup);
  writer.put_count("sorted_update_kernels", gpu.sorted_update_kernels);
  writer.put_real("sorted_update_efficiency", gpu.sorted_update_efficiency);
  write_update_efficiency(writer, gpu);
  writer.put_real("overlap_slowdown", gpu.overlap_slowdown);
  writer.close();
}

void write_host(SpecWriter& writer, const HostSpec& host) {
  writer.open("host");
  if (host.memory) writer.put_quantity("memory", *host.memory);
  writer.put_quantity("memory_bandwidth", host.memory_bandwidth);
  if (host.gpu_link_bandwidth) writer.put_quantity("gpu_link_bandwidth", *host.gpu_link_bandwidth);
  writer.close();
}

void write_nvlink(SpecWriter& writer, const NvlinkSpec& nvlink) {
  constexpr std::array kKinds = {"none", "switch", "mesh"};
  constexpr std::array kRules = {"widest", "lowest_index", "highest_index", "balanced", "none"};
  writer.open("nvlink");
  writer.put("kind", kKinds.at(static_cast<std::size_t>(nvlink.kind)));
  if (nvlink.links_per_gpu > 0) writer.put_count("links_per_gpu", nvlink.links_per_gpu);
  writer.put_quantity("per_link", nvlink.per_link);
  if (nvlink.per_link_effective.bytes_per_second > 0) {
    writer.put_quantity("per_link_effective", nvlink.per_link_effective);
  }
  writer.put_quantity("latency", nvlink.latency);
  writer.put("relay", kRules.at(static_cast<std::size_t>(nvlink.relay)));
  writer.put_real("nvb_efficiency", nvlink.nvb_efficiency);
  std::vector<std::string> links;
  for (const NvlinkSpec::Pair& pair : nvlink.pairs) links.push_back(list_text({pair.a, pair.b, pair.links}));
  if (!links.empty()) writer.put_list("links", links);
  writer.close();
}

void write_pcie(SpecWriter& writer, const PcieSpec& pcie) {
  writer.open("pcie");
  writer.put_count("generation", pcie.generation);
  writer.put_count("lanes", pcie.lanes);
  writer.put_quantity("latency", pcie.latency);
  writer.open("cpu");
  writer.put("vendor", pcie.cpu_vendor);
  writer.put_text("model", pcie.cpu_model);
  writer.put_count("sockets", pcie.sockets);
  if (pcie.cpu_link) writer.put_quantity("link", *pcie.cpu_link);
  writer.close();
  writer.put_flag("p2p", pcie.p2p);
  std::vector<std::string> tree;
  for (std::size_t i = 0; i < pcie.tree.size(); ++i) {
    const PcieSpec::Switch& entry = pcie.tree[i];
    tree.push_back(writer.item("tree", i,
                               {{"switch", entry.name},
                                {"parent", entry.parent},
                                {"gpus", list_text(entry.gpus)},
                                {"nics", list_text(entry.nics)}}));
  }
  if (!tree.empty()) writer.put_list("tree", tree);
  writer.close();
}

void write_nics(SpecWriter& writer, const NicSpec& nics) {
  writer.open("nics");
  if (nics.per_gpu > 0) writer.put_count("per_gpu", nics.per_gpu);
  if (nics.shared_by > 0) writer.put_count("shared_by", nics.shared_by);
  if (nics.per_node > 0) writer.put_count("per_node", nics.per_node);
  writer.put_quantity("rate", nics.rate);
  writer.put_quantity("latency", nics.latency);
  writer.put_flag("gpudirect", nics.gpudirect);
  writer.put("transport", nics.transport);
  writer.put("rate_basis", nics.rate_basis);
  writer.close();
}

void write_fabric(SpecWriter& writer, const FabricSpec& fabric) {
  writer.open("fabric");
  writer.put("kind", fabric.kind);
  if (fabric.nodes_per_leaf > 0) writer.put_count("nodes_per_leaf", fabric.nodes_per_leaf);
  writer.put_real("oversubscription", fabric.oversubscription);
  writer.put_quantity("latency", fabric.latency);
  writer.put_flag("collapse", fabric.collapse);
  writer.close();
}

void write_channels(SpecWriter& writer, const std::string& key, const std::optional<GraphSpec>& graph) {
  if (!graph) return;
  writer.open(key);
  writer.put_count("channels", graph->channels);
  writer.put_quantity("bw_intra", graph->bw_intra);
  if (key == "multi_node") writer.put_quantity("bw_inter", graph->bw_inter);
  if (!graph->intra_path.empty()) writer.put("intra_path", graph->intra_path);
  std::vector<std::string> rings;
  for (const auto& ring : graph->rings) rings.push_back(list_text(ring));
  if (!rings.empty()) writer.put_list("rings", rings);
  writer.close();
}

void write_graph(SpecWriter& writer, const ClusterSpec& spec) {
  if (!spec.graph_one_node && !spec.graph_multi_node) return;
  writer.open("graph");
  writer.put_flag("cross_nic", spec.graph_one_node ? spec.graph_one_node->cross_nic : spec.graph_multi_node->cross_nic);
  write_channels(writer, "one_node", spec.graph_one_node);
  write_channels(writer, "multi_node", spec.graph_multi_node);
  writer.close();
}

void write_p2p(SpecWriter& writer, const P2pSpec& p2p) {
  writer.open("p2p");
  writer.put_quantity("channel_rate", p2p.channel_rate);
  if (p2p.channels_per_peer > 0) writer.put_count("channels_per_peer", p2p.channels_per_peer);
  if (p2p.pxn) writer.put_flag("pxn", *p2p.pxn);
  writer.close();
}

void write_overhead(SpecWriter& writer, const std::string& key, const OverheadSpec& overhead, bool across_nodes) {
  writer.open(key);
  writer.put_quantity("start", overhead.start);
  writer.put_quantity("per_remote_peer", overhead.per_remote_peer);
  writer.put_real("efficiency", overhead.efficiency);
  writer.put_quantity("fill", overhead.fill);
  writer.put_real("latency_share", overhead.latency_share);
  writer.put_flag("plateau", overhead.plateau);
  if (across_nodes)
    writer.put("nic_efficiency", overhead.nic_efficiency ? shortest(*overhead.nic_efficiency) : "graph");
  writer.close();
}

void write_overheads(SpecWriter& writer, const ClusterSpec& spec) {
  writer.open("overheads");
  writer.put_quantity("launch_overhead", spec.launch_overhead);
  for (const auto& [kind, pair] : spec.overheads) {
    writer.open(kind);
    write_overhead(writer, "in_node", pair.in_node, false);
    write_overhead(writer, "across_nodes", pair.across_nodes, true);
    writer.close();
  }
  writer.close();
}

void write_faults(SpecWriter& writer, const std::vector<FaultSpec>& faults) {
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const FaultSpec& fault = faults[i];
    SpecWriter::Fields parts = {{"node", fmt::format("{}", fault.node)}};
    if (fault.gpu) parts.emplace_back("gpu", fmt::format("{}", *fault.gpu));
    if (fault.nic) parts.emplace_back("nic", fmt::format("{}", *fault.nic));
    parts.emplace_back("rate_factor", shortest(fault.rate_factor));
    parts.emplace_back("compute_factor", shortest(fault.compute_factor));
    entries.push_back(writer.item("faults", i, parts));
  }
  if (!entries.empty()) writer.put_list("faults", entries);
}

void write_head(SpecWriter& writer, const ClusterSpec& spec) {
  writer.line("schema: shardsim.cluster/1");
  writer.put("name", spec.name);
  writer.put_text("summary", spec.summary);
  std::vector<std::string> open;
  for (const std::string& entry : spec.open) open.push_back(yaml_quoted(entry));
  writer.put_list("open", open);
  writer.put_count("nodes", spec.nodes);
  writer.put("device", spec.device);
}

}  // namespace

std::string write_cluster(const ClusterSpec& spec) {
  SpecWriter writer(spec.sources);
  write_head(writer, spec);
  write_gpu(writer, spec.gpu);
  write_host(writer, spec.host);
  write_nvlink(writer, spec.nvlink);
  write_pcie(writer, spec.pcie);
  if (spec.nics) write_nics(writer, *spec.nics);
  write_fabric(writer, spec.fabric);
  writer.put_text("nccl", spec.nccl);
  writer.put("fits", spec.fits);
  write_graph(writer, spec);
  write_p2p(writer, spec.p2p);
  write_overheads(writer, spec);
  write_faults(writer, spec.faults);
  return writer.text();
}

}  // namespace shardsim
