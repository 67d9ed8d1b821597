#include "study/why/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "study/scenario/read_software.h"

namespace shardsim {
namespace {

WorksEdit without_links(bool (*of_kind)(LinkKind)) {
  return [of_kind](const Program&, const Cluster& cluster, std::vector<OpWork>& works) {
    const auto free = [&](const LinkLoad& load) {
      return of_kind(cluster.links()[static_cast<std::size_t>(load.link)].kind);
    };
    for (OpWork& work : works)
      for (OpWork::Call& call : work.calls) std::erase_if(call.loads.loads, free);
  };
}

void free_host(const Program& program, const Cluster&, std::vector<OpWork>& works) {
  for (const Op& op : program.ops) {
    if (op.op_class != OpClass::host) continue;
    for (double& seconds : works[static_cast<std::size_t>(op.id)].seconds)
      if (seconds > 0) seconds = 0;
  }
}

void only_host(const Program& program, const Cluster&, std::vector<OpWork>& works) {
  for (const Op& op : program.ops) {
    if (op.op_class == OpClass::host) continue;
    OpWork& work = works[static_cast<std::size_t>(op.id)];
    for (double& seconds : work.seconds)
      if (seconds > 0) seconds = 0;
    for (OpWork::Call& call : work.calls) {
      call.loads.start = {};
      call.loads.loads.clear();
    }
  }
}

void even_compute(std::vector<double>& seconds) {
  double sum = 0;
  std::size_t ranks = 0;
  for (const double each : seconds) {
    if (each < 0) continue;
    sum += each;
    ++ranks;
  }
  for (double& each : seconds)
    if (each >= 0) each = sum / static_cast<double>(ranks);
}

// The bytes on links of one kind that the members have, dealt evenly to all of these.
void even_loads(OpWork::Call& call, const Cluster& cluster) {
  std::map<LinkKind, std::set<LinkId>> links;
  for (const int rank : call.ranks)
    for (const LinkId link : cluster.links_of(rank))
      links[cluster.links()[static_cast<std::size_t>(link)].kind].insert(link);
  std::map<LinkKind, LinkLoad> sums;
  for (const LinkLoad& load : call.loads.loads) {
    const LinkKind kind = cluster.links()[static_cast<std::size_t>(load.link)].kind;
    links[kind].insert(load.link);
    LinkLoad& sum = sums[kind];
    sum.bytes += load.bytes;
    sum.occupancy += load.occupancy;
    sum.cap = std::max(sum.cap, load.cap);
  }
  call.loads.loads.clear();
  for (const auto& [kind, sum] : sums) {
    const auto count = static_cast<double>(links[kind].size());
    for (const LinkId link : links[kind])
      call.loads.loads.push_back({link, sum.bytes / count, sum.occupancy / count, sum.cap});
  }
  std::ranges::sort(call.loads.loads, {}, &LinkLoad::link);
}

void even_ranks(const Program&, const Cluster& cluster, std::vector<OpWork>& works) {
  for (OpWork& work : works) {
    even_compute(work.seconds);
    for (OpWork::Call& call : work.calls) even_loads(call, cluster);
  }
}

bool exchanges_vectors(const PathPart& part) {
  const bool exchange =
      part.op_class == "all_to_all" || part.op_class == "reduce_scatter" || part.op_class == "all_gather";
  return exchange && !part.operation.starts_with("input_");
}

bool has_wide_vectors(const Workload& workload) {
  return std::ranges::any_of(workload.tables, [&](const Table& table) {
    return forward_wire(workload, table) == Dtype::fp32 || backward_wire(workload, table) == Dtype::fp32;
  });
}

ChangedCase with_fp16_vectors(const Case& item) {
  ChangedCase changed{item};
  changed.item.workload.wire_forward = changed.item.workload.wire_backward = WireDtype{Dtype::fp16};
  for (Table& table : changed.item.workload.tables) table.wire_forward = table.wire_backward = std::nullopt;
  changed.lowered_anew = true;
  return changed;
}

// The rates that the compute model goes by are the cluster's, also where its constants are measured.
bool may_use_tf32(const Case& item) {
  const DensePart& dense = item.workload.dense;
  const auto& flops = item.cluster.gpu.flops;
  const auto tf32 = flops.find("tf32"), fp32 = flops.find("fp32");
  const bool faster = tf32 != flops.end() && (fp32 == flops.end() || tf32->second.per_second > fp32->second.per_second);
  return faster && !dense.layers.empty() && !dense.measured && dense.precision == "fp32";
}

ChangedCase with_tf32_products(const Case& item) {
  ChangedCase changed{item};
  changed.item.workload.dense.precision = "tf32";
  changed.lowered_anew = true;
  changed.settings.emplace_back("workload.dense.precision=tf32");
  return changed;
}

ChangedCase with_other_order(const Case& item) {
  ChangedCase changed{item};
  changed.item.workload.first_module = other_kind(item.workload.first_kind());
  changed.lowered_anew = true;
  return changed;
}

// The software of a case with its launches in a CUDA graph, as the preset has it; null where there is none, or the case
// states values of its own.
const Software* with_graph(const Case& item) {
  if (!item.software || item.software->with_graph.empty()) return nullptr;
  const std::vector<Software>& presets = shipped_software().presets;
  const auto own = std::ranges::find(presets, item.software->name, &Software::name);
  const auto graph = std::ranges::find(presets, item.software->with_graph, &Software::name);
  return own != presets.end() && graph != presets.end() && *own == *item.software ? &*graph : nullptr;
}

ChangedCase with_other_software(const Case& item, const Software& software) {
  ChangedCase changed{with_software(item, software)};
  changed.lowered_anew = true;
  return changed;
}

bool may_ask_once(const Workload& workload) {
  return workload.embedding_kernels == "fused" && std::ranges::any_of(workload.tables, [](const Table& table) {
           return table.kind == TableKind::sequence && !table.index_dedup;
         });
}

ChangedCase with_index_dedup(const Case& item) {
  ChangedCase changed{item};
  for (Table& table : changed.item.workload.tables) table.index_dedup = table.kind == TableKind::sequence;
  changed.item.load.draw.reset();  // where each id is asked for once, no placement is another's better: as `run` has it
  changed.lowered_anew = true;
  return changed;
}

constexpr double kTellingModuleOrder = 0.03, kTellingOption = 0.01;

}  // namespace

bool exchanges_over_pcie(const Why& why) {
  return std::ranges::find(why.parts, "PCIe", &PathPart::over) != why.parts.end();
}

// The next generation of PCIe, where its slots or links, or those to the memory of the hosts, take time on the path.
std::optional<ChangedCase> with_faster_pcie(const Case& item, const Why& why) {
  const auto over_pcie = [](const PathPart& part) { return part.over.find("PCIe") != std::string::npos; };
  constexpr int kNewest = 6;
  if (item.cluster.pcie.generation >= kNewest || std::ranges::none_of(why.parts, over_pcie)) return std::nullopt;
  ChangedCase changed{item};
  ClusterSpec& cluster = changed.item.cluster;
  const bool feeds_host = cluster.host.gpu_link_bandwidth == pcie_rate(cluster.pcie);
  ++cluster.pcie.generation;
  if (feeds_host) cluster.host.gpu_link_bandwidth = pcie_rate(cluster.pcie);
  changed.settings.push_back(fmt::format("cluster.pcie.generation={}", changed.item.cluster.pcie.generation));
  return changed;
}

bool is_way(std::string_view key) {
  return key == kFp16Vectors || key == kTf32Products || key == kIndexDedup || key == kWithGraph ||
         key == kOtherModuleFirst;
}

std::vector<WhatIf> what_ifs(const Case& item, const Why& why) {
  std::vector<WhatIf> all;
  const auto edited = [&](std::string_view key, const char* text, WorksEdit edit) {
    all.push_back({key, text, {item, std::move(edit)}});
  };
  if (has_lever(item, Lever::nics)) edited("free_nics", "if the NICs were free", without_links(is_nic));
  if (has_lever(item, Lever::nvlink)) edited("free_nvlink", "if NVLink were free", without_links(is_nvlink));
  if (exchanges_over_pcie(why)) edited("free_pcie", "if PCIe between GPUs were free", without_links(is_pcie));
  edited("even_ranks", "if the fullest rank were even", even_ranks);
  if (has_lever(item, Lever::host)) edited(kFreeHost, "if the host were free", free_host);
  if (item.software) edited("only_host", "if the host alone took time", only_host);
  if (const Software* const graph = with_graph(item))
    all.push_back(
        {kWithGraph, "with software " + graph->name, with_other_software(item, *graph), kTellingOption, true});
  if (may_ask_once(item.workload))
    all.push_back({kIndexDedup, "with index_dedup of sequences", with_index_dedup(item), kTellingOption, true});
  if (has_wide_vectors(item.workload) && std::ranges::any_of(why.parts, exchanges_vectors))
    all.push_back({kFp16Vectors, "if vectors travelled as fp16", with_fp16_vectors(item)});
  if (may_use_tf32(item))
    all.push_back({kTf32Products, "if products ran in TF32", with_tf32_products(item), kTellingOption, true});
  if (auto faster = with_faster_pcie(item, why)) {
    const std::string text = fmt::format("with PCIe {}.0", faster->item.cluster.pcie.generation);
    all.push_back({"faster_pcie", text, std::move(*faster), kTellingOption, true});
  }
  if (!item.workload.has_both_kinds()) return all;
  const bool pooled_first = item.workload.first_kind() == TableKind::pooled;
  all.push_back({kOtherModuleFirst,
                 pooled_first ? "if the sequence module came first" : "if the pooled module came first",
                 with_other_order(item), kTellingModuleOrder});
  return all;
}

}  // namespace shardsim
