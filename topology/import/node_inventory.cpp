#include "topology/import/node_inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/fields/exact_text.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "base/tree/yaml_text.h"
#include "topology/import/nics_in_use.h"
#include "topology/spec/cluster_spec.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

constexpr const char* kAssumedModel = "A100-SXM4-40GB";
constexpr const char* kNameModel = "Name it: --gpu MODEL";

std::string capability_text(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

void refuse_mixed(const NodeInventory& node) {
  const NodeInventory::Gpu& first = node.gpus.front();
  for (const NodeInventory::Gpu& gpu : node.gpus) {
    if (gpu.model == first.model && gpu.capability == first.capability && gpu.unknown_id == first.unknown_id) continue;
    throw input_error(gpu.place, fmt::format("GPUs {} and {} are of different models", first.name, gpu.name),
                      "A cluster file can hold only one GPU model; describe a node whose GPUs are all alike");
  }
}

// A GPU with a link to its CPU is the superchip of its generation.
const GpuModel* superchip_of_capability(int capability) {
  const auto is_it = [&](const GpuModel& model) { return model.capability == capability && has_grace(model.name); };
  const auto found = std::ranges::find_if(gpu_models(), is_it);
  return found == gpu_models().end() ? nullptr : &*found;
}

// NVLinks and the compute capability tell what board a GPU is on. Of cards they tell too little: an A10 is no RTX 3090.
void refuse_unknown_card(const NodeInventory& node) {
  const NodeInventory::Gpu& first = node.gpus.front();
  if (first.unknown_id.empty() || !node.switch_links.empty() || !node.pairs.empty()) return;
  throw input_error(
      first.place,
      fmt::format("GPU {} is PCI device {}, a card that is not in the catalogue of GPUs", first.name, first.unknown_id),
      "Name its model: --gpu MODEL, with --gpu-like MODEL as well where that is not in the catalogue");
}

const GpuModel& assumed_model(NodeInventory& node, bool may_be_assumed) {
  const NodeInventory::Gpu& first = node.gpus.front();
  refuse_unknown_card(node);
  const GpuModel* model =
      first.capability ? gpu_model_of_capability(*first.capability) : &find_gpu_model(kAssumedModel);
  if (first.capability && node.host_link) {
    if (const GpuModel* const superchip = superchip_of_capability(*first.capability)) model = superchip;
  }
  if (!may_be_assumed || model == nullptr) {
    throw input_error(first.place, fmt::format("the GPU model of {} is not in the file", first.name), kNameModel);
  }
  const std::string why =
      first.unknown_id.empty() ? "not in the file" : "PCI device " + first.unknown_id + " is not in the catalogue";
  node.notes.push_back(
      fmt::format("GPU model: {}, {} is assumed; import again with --gpu MODEL to name it", why, model->name));
  return *model;
}

GpuModel model_of(NodeInventory& node, const ImportOptions& options) {
  refuse_mixed(node);
  const NodeInventory::Gpu& first = node.gpus.front();
  if (options.gpu_model.empty() && first.model.empty()) return assumed_model(node, options.gpu_model_may_be_assumed);
  GpuModel model = options.gpu_model.empty() ? find_gpu_model(first.model) : chosen_model(options);
  if (!first.model.empty() && model.name != first.model) {
    node.notes.push_back(fmt::format("GPU model: the file says {}, but --gpu says {}", first.model, model.name));
  }
  if (!options.gpu_like.empty()) {
    if (first.capability) model.capability = *first.capability;
    node.notes.push_back(
        fmt::format("GPU model: {} is not known; memory, rates and caches are those of {}, as --gpu-like "
                    "says",
                    model.name, options.gpu_like));
  }
  if (first.capability && *first.capability != model.capability) {
    throw input_error(first.place,
                      fmt::format("GPU {} has compute capability {}, the model {} has {}", first.name,
                                  capability_text(*first.capability), model.name, capability_text(model.capability)),
                      "Name the model of these GPUs: --gpu MODEL");
  }
  return model;
}

void check_link_counts(const NodeInventory& node, const GpuModel& model) {
  if (model.nvlinks == kUnknownLinks) return;
  std::vector<int> used = node.switch_links;
  used.resize(node.gpus.size());
  for (const NvlinkSpec::Pair& pair : node.pairs) {
    used[pair.a] += pair.links;
    used[pair.b] += pair.links;
  }
  for (std::size_t gpu = 0; gpu < used.size(); ++gpu) {
    if (used[gpu] <= model.nvlinks) continue;
    throw input_error(node.gpus[gpu].place,
                      fmt::format("GPU {} has {} NVLinks, the model {} has {}", node.gpus[gpu].name, used[gpu],
                                  model.name, model.nvlinks),
                      "Correct the counts, or name the model of these GPUs: --gpu MODEL");
  }
}

int pcie_generation(NodeInventory& node, const GpuModel& model, const ImportOptions& options) {
  if (options.pcie_generation) return *options.pcie_generation;
  if (!node.pcie_generation) {
    node.notes.push_back(
        fmt::format("PCIe generation: not in the file, so {} is taken, that of the model {}; state it with --pcie GEN",
                    model.pcie_generation, model.name));
    return model.pcie_generation;
  }
  if (*node.pcie_generation >= 3) {
    if (*node.pcie_generation < model.pcie_generation)
      node.notes.push_back(fmt::format(
          "PCIe generation: the file says {}, and the model {} has {}: so are the slots of the host, or the "
          "bridges that a virtual machine shows; state other ones with --pcie GEN",
          *node.pcie_generation, model.name, model.pcie_generation));
    return *node.pcie_generation;
  }
  throw input_error(
      node.gpus.front().place,
      fmt::format("a PCIe link of generation {}: an idle GPU lowers its link to save power", *node.pcie_generation),
      "State the generation of the slots: --pcie GEN");
}

std::string gpu_text(const NodeInventory& node, const GpuModel& model) {
  return fmt::format(
      "gpu: {{model: {}, count: {}, compute_capability: \"{}\", hbm: \"{}\", hbm_bandwidth: \"{}\", l2: \"{}\", "
      "sm_count: {}, flops: {}}}\n",
      model.name, node.gpus.size(), capability_text(model.capability), model.hbm, model.hbm_bandwidth, model.l2,
      model.sm_count, model.flops);
}

// Those of the model; of one that is only like another, the most that a GPU of the file has.
int links_of_model(const NodeInventory& node, const GpuModel& model) {
  if (model.nvlinks != kUnknownLinks) return model.nvlinks;
  std::vector<int> used(node.gpus.size());
  for (const auto& pair : node.pairs) {
    used[pair.a] += pair.links;
    used[pair.b] += pair.links;
  }
  return *std::ranges::max_element(used);
}

// The key `domain` where the file has all hosts of an NVLink fabric; a note where the GPUs may be part of one.
std::string domain_text(NodeInventory& node, const GpuModel& model) {
  if (node.is_one_domain) return fmt::format(", domain: {}", node.nodes * static_cast<int>(node.gpus.size()));
  if (has_grace(model.name) && model.name.starts_with("GB"))
    node.notes.push_back(
        fmt::format("a rack of {} may be one NVLink domain of up to 72 GPUs, of which the file shows one host: state "
                    "nvlink.domain, and nodes, where it is",
                    model.name));
  return "";
}

std::string nvlink_text(NodeInventory& node, const GpuModel& model) {
  if (!node.nvlink_is_known) {
    node.notes.push_back(
        fmt::format("NVLink: not in the file (topo -mp and skeletons hide it), so kind: none is written; import again "
                    "with --nvlinks N, or add the key nvlink before a run (the model {} has {} links)",
                    model.name, model.nvlinks));
  }
  if (!node.switch_links.empty()) {
    const auto [least, most] = std::minmax_element(node.switch_links.begin(), node.switch_links.end());
    if (*least < *most)
      node.notes.push_back(fmt::format("NVLinks to the switch differ, {} to {}: GPU {} has the fewest", *least, *most,
                                       least - node.switch_links.begin()));
    return fmt::format("nvlink: {{kind: switch, links_per_gpu: {}{}}}\n", *least, domain_text(node, model));
  }
  if (node.pairs.empty()) return "nvlink: {kind: none}\n";
  std::vector<std::string> links;
  for (const auto& pair : node.pairs) links.push_back(fmt::format("[{}, {}, {}]", pair.a, pair.b, pair.links));
  return fmt::format("nvlink: {{kind: mesh, links_per_gpu: {}, links: [{}]}}\n", links_of_model(node, model),
                     join(links));
}

std::string p2p_text(NodeInventory& node, const GpuModel& model) {
  if (has_peer_to_peer(model.name) || node.gpus.size() < 2) return "";
  node.notes.push_back(
      fmt::format("NVIDIA's driver lets no {} copy to another GPU directly (NVIDIA/nccl-tests#117), so p2p: false is "
                  "written; with a driver that does, write p2p: true",
                  model.name));
  return "  p2p: false\n";
}

void note_socket_link(NodeInventory& node) {
  if (node.cpu_link || node.sockets < 2 || !node.switch_links.empty()) return;
  const std::string vendor = node.cpu_vendor.empty() ? "amd" : node.cpu_vendor;
  if (vendor == "arm") {
    node.notes.emplace_back(
        "the link between sockets: not in the file, NCCL's constant for the CPU stands in, which may be "
        "far below the real rate; state it with --cpu-link RATE");
    return;
  }
  const std::string name = node.cpu_model.empty() ? vendor : node.cpu_model;
  node.notes.push_back(
      fmt::format("the link between sockets: not in the file, {} of usual machines with CPUs of {} stands in (data "
                  "sheets); --cpu-link RATE states another",
                  to_text(usual_socket_link(vendor, node.cpu_model)), name));
}

std::string pcie_text(NodeInventory& node, const GpuModel& model, const ImportOptions& options) {
  if (node.cpu_vendor.empty() && has_grace(model.name)) node.cpu_vendor = "arm";
  if (node.cpu_vendor.empty())
    node.notes.push_back(fmt::format("CPU vendor: {}, amd stands in", node.unknown_cpu.empty()
                                                                          ? "not in the file"
                                                                          : node.unknown_cpu + " is not known"));
  if (options.cpu_link) node.cpu_link = options.cpu_link;
  note_socket_link(node);
  std::string text = fmt::format("pcie:\n  generation: {}\n  lanes: {}\n", pcie_generation(node, model, options),
                                 node.pcie_lanes.value_or(16)) +
                     p2p_text(node, model);
  text += fmt::format("  cpu: {{vendor: {}, model: {}, sockets: {}{}}}\n  tree:\n",
                      node.cpu_vendor.empty() ? "amd" : node.cpu_vendor, in_yaml_quotes(node.cpu_model), node.sockets,
                      node.cpu_link ? ", link: " + in_yaml_quotes(exact_text(*node.cpu_link)) : "");
  for (const PcieSpec::Switch& entry : node.tree) {
    text += fmt::format("    - {{switch: {}, parent: {}, gpus: [{}], nics: [{}]}}\n", entry.name, entry.parent,
                        fmt::join(entry.gpus, ", "), fmt::join(entry.nics, ", "));
  }
  return text;
}

std::string nic_layout(std::size_t nics, std::size_t gpus) {
  if (nics % gpus == 0 && nics / gpus <= 16) return fmt::format("per_gpu: {}", nics / gpus);
  if (gpus % nics == 0) return fmt::format("shared_by: {}", gpus / nics);
  return fmt::format("per_node: {}", nics);
}

void note_assumed(const NodeInventory::Nic& first, bool rate_is_known, NodeInventory& node) {
  if (!rate_is_known) {
    node.notes.emplace_back(
        "NIC rate: not in the file, 10 Gbit/s stands in as NCCL takes it, an assumption; --nic RATE names it");
  }
  if (first.is_transport_stated) return;
  node.notes.push_back(first.transport.empty()
                           ? "transport: not in the file, infiniband stands in"
                           : fmt::format("transport: not in the file, {} is taken from the name and PCI class of {}",
                                         first.transport, first.name));
}

std::string nics_text(NodeInventory& node, const ImportOptions& options) {
  if (node.nics.empty()) {
    if (options.nic_rate)
      throw input_error({"argument --nic"}, "the file lists no NIC whose rate this could be",
                        "Leave it out, and add the 'nics' to the cluster that is written");
    node.notes.emplace_back("NICs: none in the file");
    return "";
  }
  const NodeInventory::Nic& first = node.nics.front();
  const bool rate_is_known = first.rate || options.nic_rate;
  note_assumed(first, rate_is_known, node);
  const bool gpudirect =
      std::all_of(node.nics.begin(), node.nics.end(), [](const NodeInventory::Nic& nic) { return nic.gpudirect; });
  return fmt::format("nics: {{{}, rate: \"{}\", rate_basis: {}, gpudirect: {}, transport: {}}}\n",
                     nic_layout(node.nics.size(), node.gpus.size()),
                     exact_text(options.nic_rate.value_or(first.rate.value_or(kUnstatedNic))),
                     !rate_is_known          ? "assumed"
                     : first.is_rate_of_slot ? "inferred"
                                             : "stated",
                     gpudirect, first.transport.empty() ? "infiniband" : first.transport);
}

std::string open_text(const std::vector<std::string>& notes) {
  std::string text = "open:\n";
  for (const std::string& note : notes) text += "  - " + in_yaml_quotes(note) + "\n";
  return text;
}

void place_all(Tree& tree, const Place& place) {
  tree.place = place;
  for (Tree& item : tree.items) place_all(item, place);
  for (auto& [key, value] : tree.fields) place_all(value, place);
}

std::string cluster_text(NodeInventory& node, const GpuModel& model, const ImportOptions& options) {
  std::string text = gpu_text(node, model) + nvlink_text(node, model) + pcie_text(node, model, options);
  text += nics_text(node, options);
  if (node.host_link) text += "host: {gpu_link_bandwidth: " + in_yaml_quotes(exact_text(*node.host_link)) + "}\n";
  node.notes.emplace_back("GPU memory, rates and caches are those of the model's data sheet");
  node.notes.emplace_back("host memory, latencies and the fabric between nodes are not in the file");
  const std::string source = std::filesystem::path(node.place.source).filename().string();
  return fmt::format("schema: shardsim.cluster/1\nname: {}\nsummary: {}\nnodes: {}\n", options.name,
                     in_yaml_quotes(fmt::format("{} x {}, imported from {}", node.gpus.size(), model.name, source)),
                     node.nodes) +
         open_text(node.notes) + text;
}

// Rate of the link between a GPU and its Grace CPU, one direction, as NCCL's dumps of such hosts state it: 10 links of
// 44712 MB/s for the GPU of a GH200, 5 for each of the two of a GB200 or GB300.
Bandwidth grace_link(const GpuModel& model) {
  constexpr double kLink = 44712e6;
  return {kLink * (model.name.starts_with("GH") ? 10 : 5)};
}

void take_stated_links(NodeInventory& node, const ImportOptions& options) {
  if (!options.nvlinks) return;
  if (!node.pairs.empty() || !node.switch_links.empty())
    throw input_error({"argument --nvlinks"}, "the file shows NVLinks itself", "Leave the option out");
  node.switch_links.assign(node.gpus.size(), *options.nvlinks);
  node.nvlink_is_known = true;
  node.notes.push_back(
      fmt::format("NVLinks: not in the file, {} of each GPU to an NVSwitch as --nvlinks says", *options.nvlinks));
}

}  // namespace

GpuModel chosen_model(const ImportOptions& options) {
  if (options.gpu_like.empty()) return find_gpu_model(options.gpu_model);
  refuse_foreign_gpu(options.gpu_model, "argument --gpu");
  GpuModel model = find_gpu_model(options.gpu_like);
  if (!options.gpu_model.empty()) model.name = options.gpu_model;
  model.nvlinks = kUnknownLinks;
  return model;
}

Error gpu_off_switch(const Place& place, const std::string& gpu) {
  return input_error(place, gpu + " has no NVLink to the switch, others have",
                     "Its links are down: repair it, or leave it out of the file. Either all GPUs of a node have links "
                     "to the NVSwitch, or none");
}

ClusterSpec cluster_of(NodeInventory node, const ImportOptions& options) {
  if (node.gpus.empty()) {
    throw input_error(node.place, "no GPU in the file", "Import a description of a node with GPUs");
  }
  if (node.nics.size() > kMostNicsPerNode) {
    throw input_error(node.place,
                      fmt::format("{} NICs in one node, at most {} are possible", node.nics.size(), kMostNicsPerNode),
                      "Import the description of one node");
  }
  const GpuModel model = model_of(node, options);
  take_stated_links(node, options);
  check_link_counts(node, model);
  keep_used_nics(node, options.nics);
  if (!node.host_link && has_grace(model.name)) node.host_link = grace_link(model);
  Tree tree = parse_yaml(cluster_text(node, model, options), node.place.source);
  place_all(tree, node.place);
  return read_cluster(tree);
}

std::string cluster_name_of(const std::string& path) {
  std::string name;
  for (char c : std::filesystem::path(path).stem().string()) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (fits || (!name.empty() && name.back() != '_')) name += fits ? c : '_';
  }
  while (name.size() > 64 || name.ends_with('_')) name.pop_back();
  return name.empty() ? "imported" : name;
}

}  // namespace shardsim
