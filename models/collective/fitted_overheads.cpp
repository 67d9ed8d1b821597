#include "models/collective/fitted_overheads.h"

#include <algorithm>

#include "base/text.h"
#include "topology/spec/exact_text.h"

namespace shardsim {
namespace {

const std::vector<std::string> kGathers = {"all_gather", "reduce_scatter"};
const std::vector<std::string> kPeerToPeer = {"all_to_all", "send_recv"};

FittedOverhead row(std::vector<std::string> kinds, bool across_nodes, std::vector<std::string> fitted_on) {
  FittedOverhead made;
  made.kinds = std::move(kinds);
  made.across_nodes = across_nodes;
  if (across_nodes) made.network = "rdma";
  made.fitted_on = std::move(fitted_on);
  return made;
}

// Time that a pipeline loses per chunk: grows like the square root of the bytes.
void add_fills(FitTable& table) {
  for (bool across : {false, true}) {
    FittedOverhead gathers = row(kGathers, across, {"Sophia", "xxrjun cluster01", "Azure ND A100 v4"});
    gathers.fill = Seconds{4e-6};
    table.rows.push_back(gathers);
    FittedOverhead peers = row(kPeerToPeer, across, {"Sophia", "xxrjun cluster01", "Azure ND A100 v4", "RTX 6000D"});
    peers.fill = Seconds{4e-6};
    peers.start = Seconds{55e-6};  // the smallest messages over two nodes of eight take 50 to 59 us
    peers.efficiency = .989;
    table.rows.push_back(peers);
  }
  FittedOverhead per_peer = row({"all_to_all"}, true, {"Sophia", "RTX 6000D"});
  per_peer.per_remote_peer = Seconds{1e-6};
  table.rows.push_back(per_peer);
}

// NCCL raises the latency of rings above a size to prefer trees below it; the measurements do not show it as time.
void add_reductions(FitTable& table) {
  FittedOverhead reduce = row({"all_reduce"}, true, {"Sophia", "2 x 8 A100, 4 HDR", "2 x 8 H100", "2 x 8 H200"});
  reduce.efficiency = .952;
  reduce.plateau = false;
  table.rows.push_back(reduce);
}

void add_nics(FitTable& table) {
  FittedOverhead any = row(kPeerToPeer, true, {"Sophia", "two A100 servers, RoCE", "xxrjun cluster01"});
  any.nic_efficiency = .878;
  FittedOverhead ampere = row(kPeerToPeer, true, {"Sophia", "two A100 servers, RoCE"});
  ampere.generation = NcclGeneration::ampere;
  ampere.nic_efficiency = .848;
  FittedOverhead hopper = row(kPeerToPeer, true, {"xxrjun cluster01"});
  hopper.generation = NcclGeneration::hopper;
  hopper.nic_efficiency = .967;
  table.rows.insert(table.rows.end(), {any, ampere, hopper});
}

FitTable made_open_data() {
  FitTable table{"open_data", "open measurements, docs/accuracy.md", {}};
  add_fills(table);
  add_reductions(table);
  add_nics(table);
  return table;
}

// Writes one reach of one kind, and notes what it wrote.
class Filler {
 public:
  Filler(ClusterSpec& spec, const FitTable& table, const std::string& kind, bool across_nodes)
      : spec_(spec),
        table_(table),
        path_("overheads." + kind + (across_nodes ? ".across_nodes." : ".in_node.")),
        target_(across_nodes ? spec.overheads[kind].across_nodes : spec.overheads[kind].in_node) {}

  void fill(const FittedOverhead& row) {
    if (row.start) {
      set(target_.start, *row.start, "start", exact_text(*row.start), row);
      target_.start_is_fitted = true;
    }
    if (row.per_remote_peer)
      set(target_.per_remote_peer, *row.per_remote_peer, "per_remote_peer", exact_text(*row.per_remote_peer), row);
    if (row.fill) set(target_.fill, *row.fill, "fill", exact_text(*row.fill), row);
    if (row.efficiency) set(target_.efficiency, *row.efficiency, "efficiency", shortest(*row.efficiency), row);
    if (row.nic_efficiency) {
      target_.nic_efficiency = row.nic_efficiency;
      note("nic_efficiency", shortest(*row.nic_efficiency), row);
    }
    if (row.plateau) set(target_.plateau, *row.plateau, "plateau", *row.plateau ? "true" : "false", row);
  }

 private:
  template <typename Value>
  void set(Value& target, const Value& value, const std::string& key, const std::string& text,
           const FittedOverhead& row) {
    target = value;
    note(key, text, row);
  }

  void note(const std::string& key, const std::string& text, const FittedOverhead& row) {
    std::erase_if(spec_.sources, [&](const SourcedValue& value) { return value.path == path_ + key; });
    spec_.sources.push_back({path_ + key, text, table_.source, true, row.fitted_on, 0, {}});
  }

  ClusterSpec& spec_;
  const FitTable& table_;
  std::string path_;
  OverheadSpec& target_;
};

bool concerns(const FittedOverhead& row, const std::string& kind, bool across_nodes, const ClusterSpec& spec) {
  if (row.across_nodes != across_nodes || std::ranges::find(row.kinds, kind) == row.kinds.end()) return false;
  if (!row.network.empty() && row.network != network_of(spec, across_nodes)) return false;
  const int capability = capability_number(spec.gpu.compute_capability);
  return !row.generation || *row.generation == nccl_generation(capability, NcclEra::v2_30);
}

}  // namespace

const FitTable& open_data_fits() {
  static const FitTable table = made_open_data();
  return table;
}

std::string network_of(const ClusterSpec& spec, bool across_nodes) {
  if (across_nodes) {
    const bool rdma = spec.nics && (spec.nics->transport == "infiniband" || spec.nics->transport == "roce");
    return rdma ? "rdma" : "";
  }
  if (spec.nvlink.kind == NvlinkKind::none) return "pcie";
  return spec.nvlink.kind == NvlinkKind::mesh ? "mesh" : "nvswitch";
}

ClusterSpec with_fits(ClusterSpec spec, const FitTable& table) {
  spec.fits = "none";
  if (spec.device == "cpu") return spec;
  for (const auto& [kind, reaches] : std::map<std::string, OverheadPair>(spec.overheads)) {
    for (bool across : {false, true}) {
      const bool stated = (across ? reaches.across_nodes : reaches.in_node) != default_overhead(kind, across);
      if (stated) continue;
      Filler filler(spec, table, kind, across);
      for (const FittedOverhead& row : table.rows)
        if (concerns(row, kind, across, spec)) filler.fill(row);
    }
  }
  return spec;
}

ClusterSpec with_fits(ClusterSpec spec) {
  if (spec.fits == open_data_fits().name) return with_fits(std::move(spec), open_data_fits());
  return spec;
}

}  // namespace shardsim
