#include "study/why/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "models/compute/compute_model.h"
#include "models/compute/gpus/gpu_constants.h"
#include "models/compute/learned_model.h"

namespace shardsim {
namespace {

std::string text_in(const Tree& map, const char* key) {
  const Tree* const value = map.find(key);
  return value == nullptr ? "" : value->scalar;
}

// Returns the compute model's constants of this GPU; those of its table where it has one.
GpuConstants constants_of(const Case& item) {
  const std::string file = text_in(item.compute_model, "file"), named = text_in(item.compute_model, "gpu");
  GpuTable table = shipped_gpu_table();
  if (!file.empty()) table = read_gpu_table(file, std::move(table));
  return table.constants_of(named, item.cluster.gpu).value_or(GpuConstants{});
}

// Changes values of a case, and notes how `--set` would.
class Scaling {
 public:
  Scaling(ChangedCase& changed, const Change& change)
      : changed_(changed), item_(changed.item), factor_(change.factor), table_(change.table) {}

  void nics() {
    ClusterSpec& cluster = item_.cluster;
    if (!cluster.nics) return;
    rate("cluster.nics.rate", cluster.nics->rate);
    if (cluster.graph_multi_node) channels("multi_node", *cluster.graph_multi_node, true);
  }

  void nvlink() {
    ClusterSpec& cluster = item_.cluster;
    cluster.nvlink.per_link = factor_ * cluster.nvlink.per_link;
    rate("cluster.nvlink.per_link_effective", cluster.nvlink.per_link_effective);
    if (cluster.graph_one_node) channels("one_node", *cluster.graph_one_node, false);
  }

  void pcie() {
    changed_.edit = [factor = factor_](const Program&, const Cluster& cluster, std::vector<OpWork>& works) {
      for (OpWork& work : works) {
        for (OpWork::Call& call : work.calls) {
          for (LinkLoad& load : call.loads.loads) {
            if (!is_pcie(cluster.links()[static_cast<std::size_t>(load.link)].kind)) continue;
            load.bytes /= factor;
            load.occupancy /= factor;
          }
        }
      }
    };
  }

  void host_link() {
    ClusterSpec& cluster = item_.cluster;
    Bandwidth link = host_link_rate(cluster);
    rate("cluster.host.gpu_link_bandwidth", link);
    cluster.host.gpu_link_bandwidth = link;
  }

  void ssd() {
    SsdSpec ssd = item_.cluster.host.ssd.value_or(SsdSpec{});
    rate("cluster.host.ssd.read_bandwidth", ssd.read_bandwidth);
    rate("cluster.host.ssd.write_bandwidth", ssd.write_bandwidth);
    ssd.iops *= factor_;
    changed_.settings.push_back(fmt::format("cluster.host.ssd.iops={}", ssd.iops));
    item_.cluster.host.ssd = ssd;
  }

  void hbm() {
    if (has_kernel_constants(item_.compute_model))
      item_.cluster.gpu.copy_bandwidth = constants_of(item_).copy_bandwidth;
    rate("cluster.gpu.copy_bandwidth", item_.cluster.gpu.copy_bandwidth);
  }

  void flops() {
    for (auto& [precision, each] : item_.cluster.gpu.flops) {
      each = {factor_ * each.per_second};
      changed_.settings.push_back(fmt::format("cluster.gpu.flops.{}={} FLOP/s", precision, each.per_second));
    }
  }

  void host() {
    item_.cluster.host.time_factor *= factor_;
    changed_.settings.push_back(fmt::format("cluster.host.time_factor={}", item_.cluster.host.time_factor));
  }

  void collective_starts() {
    changed_.edit = [factor = factor_](const Program&, const Cluster&, std::vector<OpWork>& works) {
      for (OpWork& work : works)
        for (OpWork::Call& call : work.calls) call.loads.start = factor * call.loads.start;
    };
  }

  void kernel_starts() {
    if (has_kernel_constants(item_.compute_model)) return all_fixed_parts();
    Seconds& start = item_.cluster.gpu.kernel_overhead;
    start = factor_ * start;
    changed_.settings.push_back(fmt::format("cluster.gpu.kernel_overhead={} s", start.value));
  }

  void all_fixed_parts() {
    const char* const key = "fixed_factor";
    const std::string stated = text_in(item_.compute_model, key);
    const std::string factor = fmt::format("{}", factor_ * (stated.empty() ? 1 : std::stod(stated)));
    if (stated.empty()) {
      item_.compute_model.fields.emplace_back(key, text_tree(factor, item_.compute_model.place));
    } else {
      item_.compute_model.find(key)->scalar = factor;
    }
    changed_.settings.push_back(fmt::format("compute_model.{}={}", key, factor));
  }

  void batch() {
    std::int64_t& batch = item_.workload.batch_per_gpu;
    const auto before = static_cast<double>(batch);
    batch = std::max<std::int64_t>(1, std::llround(factor_ * before));
    changed_.factor = static_cast<double>(batch) / before;
    changed_.settings.push_back(fmt::format("workload.batch_per_gpu={}", batch));
  }

  void lookups() {
    Table& table = item_.workload.tables[static_cast<std::size_t>(table_)];
    const std::string path = "workload.tables." + table.name;
    const double length = factor_ * table.distribution().total();
    table.average_length = length;
    table.access.rescale = true;
    for (Feature& feature : table.features) feature.pooling_factor *= factor_;
    if (table.kind == TableKind::sequence) {
      changed_.settings.push_back(fmt::format("{}.average_length={}", path, length));
      if (table.access.absolute()) changed_.settings.push_back(path + ".access.rescale=true");
      return;
    }
    for (std::size_t i = 0; i < table.features.size(); ++i)
      changed_.settings.push_back(
          fmt::format("{}.features.{}.pooling_factor={}", path, i, table.features[i].pooling_factor));
  }

 private:
  void rate(const std::string& path, Bandwidth& value) {
    value = factor_ * value;
    changed_.settings.push_back(fmt::format("{}={} B/s", path, value.bytes_per_second));
  }

  // A ring that enters and leaves nodes runs at one rate inside and outside.
  void channels(const std::string& name, GraphSpec& graph, bool across) {
    const bool one_rate = graph.bw_intra == graph.bw_inter;
    if (across || one_rate) rate("cluster.graph." + name + ".bw_inter", graph.bw_inter);
    if (!across || one_rate) rate("cluster.graph." + name + ".bw_intra", graph.bw_intra);
  }

  ChangedCase& changed_;
  Case& item_;
  const double factor_;
  const int table_;
};

struct LeverRow {
  LeverWords words;
  void (Scaling::*scale)();
  bool lowered_anew = false;
};

constexpr std::array<LeverRow, 12> kLeverRows = {
    {{{"nics", "NIC rate", true}, &Scaling::nics},
     {{"nvlink", "NVLink rate", true}, &Scaling::nvlink},
     {{"pcie", "PCIe rate between GPUs", true}, &Scaling::pcie},
     {{"host_link", "host link (PCIe) rate", true}, &Scaling::host_link},
     {{"ssd", "SSD rate", true}, &Scaling::ssd},
     {{"hbm", "HBM bandwidth", true}, &Scaling::hbm},
     {{"flops", "FLOP rate", true}, &Scaling::flops},
     {{"host", "host time", false}, &Scaling::host, true},
     {{"collective_starts", "collective starts", false}, &Scaling::collective_starts},
     {{"kernel_starts", "kernel starts", false}, &Scaling::kernel_starts},
     {{"batch", "batch", false}, &Scaling::batch, true},
     {{"lookups", "lookups", false}, &Scaling::lookups, true}}};

const LeverRow& row_of(Lever lever) {
  return kLeverRows[static_cast<std::size_t>(lever)];
}

}  // namespace

const LeverWords& words(Lever lever) {
  return row_of(lever).words;
}

ChangedCase changed_case(const Case& item, const Change& change) {
  ChangedCase changed{item};
  changed.factor = change.factor;
  Scaling scaling(changed, change);
  (scaling.*row_of(change.lever).scale)();
  changed.lowered_anew = row_of(change.lever).lowered_anew;
  return changed;
}

bool has_lever(const Case& item, Lever lever) {
  switch (lever) {
    case Lever::nics:
      return item.cluster.nics.has_value() && item.cluster.nodes > 1;
    case Lever::nvlink:
      return item.cluster.nvlink.kind != NvlinkKind::none && item.cluster.gpu.count > 1;
    case Lever::host:
      return item.software.has_value();
    case Lever::collective_starts:
      return item.cluster.nodes * item.cluster.gpu.count > 1;
    default:
      return true;
  }
}

std::vector<std::string> pinned_values(const Case& item) {
  std::vector<std::string> sentences;
  if (item.cluster.graph_multi_node && item.cluster.nics)
    sentences.emplace_back(
        "The cluster states the channels of NCCL across nodes for its own NICs; here their rate is changed together "
        "with that of the NICs.");
  if (item.workload.dense.measured)
    sentences.push_back(
        fmt::format("Measured times of the workload (dense.measured) do not change with the GPU's rates{}.",
                    holds_embeddings(item.workload.dense) ? ", the batch or the lookups" : " or the batch"));
  if (compute_model_name(item.compute_model) == "measured")
    sentences.emplace_back("The compute model uses measured times, which do not change with the GPU's rates.");
  if (is_learned(item.compute_model))
    sentences.emplace_back(
        "The nets of the compute model learned from one GPU: lookups and updates do not change with its rates.");
  std::vector<std::string> kinds;
  for (const auto& [kind, pair] : item.cluster.overheads)
    if (pair.across_nodes.nic_efficiency && !pair.across_nodes.nic_rate) kinds.push_back(kind);
  if (!kinds.empty() && item.cluster.nics && item.cluster.nodes > 1)
    sentences.push_back(
        fmt::format("The cluster states which share of the NICs' line rate {} reaches. It was measured at the "
                    "cluster's own rate; the same share is assumed at the other rates.",
                    join(kinds)));
  return sentences;
}

}  // namespace shardsim
