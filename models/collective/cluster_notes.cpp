// Notes that qualify the predicted times of a cluster: constants that nobody fitted, fits without a range, keys without
// effect.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/fields/exact_text.h"
#include "base/text.h"
#include "models/collective/call_overheads.h"
#include "models/collective/collective_kind.h"
#include "models/collective/fitted_overheads.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

// A network between nodes. `missed`, where no accuracy is claimed for it: the origin of its times and how far published
// ones are from them, each system judged by constants of the other one (from 1 MiB up, medians; docs/accuracy.md).
struct Transport {
  std::string_view key, name;
  bool calibrated;
  std::string_view missed;
};

constexpr std::array<Transport, 6> kTransports = {{
    {"infiniband", "InfiniBand", true, ""},
    {"roce", "RoCE", true, ""},
    {"efa", "EFA", false,
     "no published collective on it was compared: times between nodes take its line rate and public defaults"},
    {"slingshot", "Slingshot", false,
     "its constants come from two systems, and each was missed by a median factor of 1.1 (NERSC Perlmutter, 2 nodes) "
     "and 1.4 (ALCF Polaris, 2 to 540 nodes) with those of the other"},
    {"tcpx", "GPUDirect-TCPX", false,
     "its reductions and gathers have constants of two systems, and each was missed by a median of 39 % "
     "(all_reduce on Google A3 Mega) and 42 % (all_gather on A3 High) with those of the other, on two nodes; "
     "all-to-all takes the line rate and public defaults"},
    {"tcp", "TCP", false,
     "its constants come from two systems, and each was missed by a median factor of 1.4 (ALCF Polaris) and 1.2 (AWS "
     "p3dn) with those of the other"},
}};

const Transport& transport_of(std::string_view key) {
  return *std::ranges::find(kTransports, key, &Transport::key);
}

bool is_across(const SourcedValue& value) {
  return value.path.starts_with("overheads.") && value.path.find(".across_nodes.") != std::string::npos;
}

bool is_claimed(const ClusterSpec& spec, const Transport& transport) {
  return transport.calibrated || std::ranges::any_of(spec.sources, [](const SourcedValue& value) {
           return value.fitted && is_across(value) && !value.source.starts_with(open_data_fits().source);
         });
}

void note_transport(const ClusterSpec& spec, std::vector<std::string>& notes) {
  const Transport& transport = transport_of(spec.nics->transport);
  if (is_claimed(spec, transport)) return;
  notes.push_back(
      fmt::format("The network of '{}' is {}, for which no accuracy is claimed: {}. 'shardsim cluster calibrate' fits "
                  "times between nodes to measurements of your own.",
                  spec.name, transport.name, transport.missed));
}

void note_rate_basis(const ClusterSpec& spec, std::vector<std::string>& notes) {
  if (spec.nics->rate_basis == "stated") return;
  notes.push_back(fmt::format("The rate of the NICs of '{}' ({}) is {}, not published.", spec.name,
                              to_text(spec.nics->rate), spec.nics->rate_basis));
}

bool has_fits_across(const ClusterSpec& spec) {
  return std::ranges::any_of(spec.sources, [](const SourcedValue& value) {
    return value.fitted && is_across(value) && value.source == open_data_fits().source;
  });
}

// Nobody stated what is kept of a file whose rate was changed.
void note_idle_hardware_rate(const ClusterSpec& spec, std::vector<std::string>& notes) {
  const bool kept = spec.places.changed.contains("nics.rate") && !spec.places.changed.contains("nics.hardware_rate");
  if (!spec.nics || !spec.nics->hardware_rate || kept || has_fits_across(spec)) return;
  notes.push_back(fmt::format(
      "nics.hardware_rate of '{}' has no effect: it chooses among fitted constants, and the cluster has none "
      "of calls between nodes. Write fits: open_data.",
      spec.name));
}

// The constants of NICs whose rate was changed stay those of their hardware, which is said where their new rate would
// have others.
void note_nic_hardware(const ClusterSpec& spec, std::vector<std::string>& notes) {
  if (!spec.nics->hardware_rate) return;
  const bool other = std::ranges::any_of(open_data_fits().rows, [&](const FittedOverhead& row) {
    return row.nics_from && row.network == network_of(spec, true) &&
           share_of(*row.nics_from, spec.nics->rate) != share_of(*row.nics_from, *spec.nics->hardware_rate);
  });
  if (!other || !has_fits_across(spec)) return;
  notes.push_back(fmt::format(
      "The NICs of '{}' run at {} and have the fitted constants of NICs of {} (nics.hardware_rate), because "
      "a changed rate does not make other hardware of them. Set nics.hardware_rate to the rate of the NICs "
      "that you mean, if they are others.",
      spec.name, to_text(spec.nics->rate), to_text(*spec.nics->hardware_rate)));
}

// NCCL's search reckons with 24 GB/s of a slot whose lanes signal 31.5 (generation 4, x16): its channels, and with them
// its estimate of reductions, do not see a NIC between the two, where the bytes of an all-to-all do.
void note_slots(const ClusterSpec& spec, std::vector<std::string>& notes) {
  const auto exchange = spec.overheads.find("all_to_all");
  const OverheadSpec reached = exchange == spec.overheads.end() ? OverheadSpec{} : exchange->second.across_nodes;
  const int nics = std::max(1, spec.nics->per_gpu);
  const Bandwidth port = nics * spec.nics->rate, counted = pcie_rate(spec.pcie);
  const Bandwidth used = std::min(reached.nic_efficiency.value_or(1) * port, nics * reached.nic_rate.value_or(port));
  const Bandwidth carried = std::min(used, pcie_line_rate(spec.pcie));
  const double more = carried.bytes_per_second / counted.bytes_per_second;
  if (more < kTellingSlot) return;
  notes.push_back(
      fmt::format("The NICs of '{}' ({} per GPU) are faster than their PCIe {}.0 x{} slots: NCCL's channel search "
                  "assumes {} for a slot, which limits reductions and gathers, while its lanes carry up to {}, which "
                  "limits all-to-all and send_recv. So the latter reach up to {:.2f} times the rate of the former, and "
                  "a faster NIC {}.",
                  spec.name, to_text(port), spec.pcie.generation, spec.pcie.lanes, to_text(counted),
                  to_text(pcie_line_rate(spec.pcie)), more,
                  carried < used ? "raises neither limit" : "makes the latter alone faster"));
}

// A rate that no published system reaches, and no measurement of this one stands for.
void note_host_copies(const ClusterSpec& spec, std::vector<std::string>& notes) {
  if (!guesses_host_copies(spec)) return;
  notes.push_back(
      fmt::format("GPUs of '{}' that are not near each other copy through host memory, and nothing says at which share "
                  "of the links' rate: all of it is taken, where {} systems reach {:.2f}. Write fits: open_data, or "
                  "pcie.host_copy_efficiency as measured; until then such times are guesses.",
                  spec.name, open_data_fits().host_copies_fitted_on.size(), open_data_fits().host_copies.value_or(1)));
}

// Fits written before ranges were stated are taken as they always were.
void note_ranges(const ClusterSpec& spec, std::vector<std::string>& notes) {
  std::vector<std::string> reaches;
  const auto fitted_at = [&](std::string_view path) {
    return std::ranges::any_of(spec.sources,
                               [&](const SourcedValue& value) { return value.fitted && value.path.starts_with(path); });
  };
  if (!spec.gpu.holds_for && fitted_at("gpu.")) reaches.emplace_back("gpu");
  if (!spec.nvlink.nvb_holds_for && fitted_at("nvlink.nvb_efficiency")) reaches.emplace_back("nvlink.nvb_efficiency");
  for (const auto& [kind, pair] : spec.overheads) {
    for (const bool across : {false, true}) {
      const std::string path = fmt::format("overheads.{}.{}.", kind, across ? "across_nodes" : "in_node");
      if (fitted_at(path) && !(across ? pair.across_nodes : pair.in_node).holds_for)
        reaches.push_back(path.substr(0, path.size() - 1));
    }
  }
  if (reaches.empty()) return;
  notes.push_back(
      fmt::format("The fitted values of '{}' in {} do not state for which sizes and groups they hold (holds_for), so "
                  "they are applied to all.",
                  spec.name, join(reaches)));
}

bool is_beyond(const FitRange& range, int ranks) {
  return ranks < range.ranks_from || (range.ranks_to > 0 && ranks > range.ranks_to);
}

bool is_ranged_below(const FitRange& range, int ranks) {
  return range.bytes_from.count > 0 || range.bytes_to || range.ranks_from > 2 ||
         (range.ranks_to > 0 && range.ranks_to < ranks);
}

bool timed_by_nccl(const ClusterSpec& spec, const std::string& kind, const OverheadPair& reaches) {
  return spec.device != "cpu" && !is_peer_to_peer(*collective_kind_named(kind)) && !reaches.across_nodes.nic_efficiency;
}

// True when the latency of links is part of a call's start. It is not with NCCL's constants, nor with a fitted start,
// except for calls that the fit does not hold for.
bool counts_latency(const ClusterSpec& spec, const std::string& kind, const OverheadPair& reaches, bool across) {
  if (timed_by_nccl(spec, kind, reaches)) return false;
  const OverheadSpec& reach = across ? reaches.across_nodes : reaches.in_node;
  const int ranks = across ? spec.nodes * spec.gpu.count : spec.gpu.count;
  return !reach.start_is_fitted() || (reach.holds_for && is_ranged_below(*reach.holds_for, ranks));
}

struct LatencyKey {
  std::string path;
  bool usual, in_node, across;  // usual: says the default
};

// Those that the file states and that a route may hold.
std::vector<LatencyKey> latency_keys(const ClusterSpec& spec) {
  const bool several = spec.nodes > 1 && spec.nics, pairs = spec.gpu.count > 1;
  const int under_leaf = spec.fabric.nodes_per_leaf;
  std::vector<LatencyKey> keys = {
      {"nvlink.latency", spec.nvlink.latency == NvlinkSpec{}.latency, pairs && spec.nvlink.kind != NvlinkKind::none,
       several && pairs && spec.nvlink.kind != NvlinkKind::none},
      {"pcie.latency", spec.pcie.latency == PcieSpec{}.latency, pairs && spec.nvlink.kind != NvlinkKind::nvswitch,
       several && pairs && spec.nvlink.kind != NvlinkKind::nvswitch}};
  if (several) keys.push_back({"nics.latency", spec.nics->latency == NicSpec{}.latency, false, true});
  if (several)
    keys.push_back({"fabric.latency", spec.fabric.latency == FabricSpec{}.latency, false,
                    under_leaf > 0 && under_leaf < spec.nodes});
  std::erase_if(keys, [&](const LatencyKey& key) { return key.usual || !spec.places.states(key.path); });
  return keys;
}

// A latency that does not count in some kinds is said where someone changed it, one that counts in none wherever it is
// stated.
void note_latencies(const ClusterSpec& spec, std::vector<std::string>& notes) {
  std::map<std::vector<std::string>, std::vector<std::string>> keys_of_kinds;
  for (const LatencyKey& key : latency_keys(spec)) {
    std::vector<std::string> idle;
    for (const auto& [kind, reaches] : spec.overheads) {
      const bool counts = (key.in_node && counts_latency(spec, kind, reaches, false)) ||
                          (key.across && counts_latency(spec, kind, reaches, true));
      if (!counts) idle.push_back(kind);
    }
    const bool everywhere = idle.size() == spec.overheads.size();
    if (everywhere || (!idle.empty() && spec.places.changed.contains(key.path)))
      keys_of_kinds[idle].push_back(key.path);
  }
  for (const auto& [kinds, keys] : keys_of_kinds)
    notes.push_back(fmt::format(
        "{} of '{}' {} no effect on {} here: the start of a collective is given by NCCL's own constants or by a fitted "
        "start, or no route uses that link. Set overheads.KIND.REACH.start to change the start.",
        join(keys), spec.name, keys.size() == 1 ? "has" : "have", join(kinds)));
}

// Constants of NCCL's cost model that a kind states and that is timed by its loads instead.
void add_idle_overheads(const ClusterSpec& spec, std::vector<std::string>& keys) {
  const OverheadSpec usual;
  for (const auto& [kind, reaches] : spec.overheads) {
    if (timed_by_nccl(spec, kind, reaches) || is_peer_to_peer(*collective_kind_named(kind))) continue;
    for (const bool across : {false, true}) {
      const OverheadSpec& reach = across ? reaches.across_nodes : reaches.in_node;
      const std::string path = fmt::format("overheads.{}.{}.", kind, across ? "across_nodes" : "in_node");
      if (reach.efficiency != usual.efficiency) keys.push_back(path + "efficiency");
      if (reach.fill != usual.fill) keys.push_back(path + "fill");
      if (reach.nvls_fill) keys.push_back(path + "nvls_fill");
      if (reach.latency_share != usual.latency_share) keys.push_back(path + "latency_share");
      if (reach.plateau != usual.plateau) keys.push_back(path + "plateau");
    }
  }
}

// Notes the keys about NCCL and GPUs that have no effect where NCCL's model does not time the collectives.
void note_without_nccl(const ClusterSpec& spec, std::vector<std::string>& notes) {
  std::vector<std::string> keys;
  const bool cpus = spec.device == "cpu";
  if (cpus && spec.nccl != ClusterSpec{}.nccl) keys.emplace_back("nccl");
  if (cpus && spec.graph_one_node) keys.emplace_back("graph.one_node");
  if (cpus && spec.graph_multi_node) keys.emplace_back("graph.multi_node");
  if (cpus && !spec.places.unfitted.empty()) keys.emplace_back("fits");
  add_idle_overheads(spec, keys);
  if (keys.empty()) return;
  notes.push_back(fmt::format("{} of '{}' {} no effect: {}.", join(keys), spec.name, keys.size() == 1 ? "has" : "have",
                              cpus ? "the ranks are CPUs, whose collectives NCCL does not time"
                                   : "the file states a nic_efficiency for this kind, so it is timed by the loads on "
                                     "its links and not by NCCL's cost model"));
}

void note_unfitted(const ClusterSpec& spec, std::vector<std::string>& notes) {
  if (spec.device == "cpu" || spec.places.unfitted.empty()) return;
  notes.push_back(
      fmt::format("'{}' states overheads of its own in {}. The fit to open measurements is not used there: keys that "
                  "are not stated take the public defaults.",
                  spec.name, join(spec.places.unfitted)));
}

// A fabric whose leaf holds all nodes has no link that is oversubscribed.
void note_idle_spine(const ClusterSpec& spec, std::vector<std::string>& notes) {
  if (spec.fabric.oversubscription <= 1 || spec.nodes > spec.fabric.nodes_per_leaf) return;
  notes.push_back(fmt::format(
      "fabric.oversubscription of '{}' has no effect here: all nodes are under one leaf, so nothing crosses "
      "the links between leaf and spine. It counts with more nodes, or a smaller nodes_per_leaf.",
      spec.name));
}

// Channels that the file states keep their NIC, whatever the environment asks for.
void note_idle_cross_nic(const ClusterSpec& spec, std::vector<std::string>& notes) {
  const auto& stated = spec.graph_multi_node;
  if (spec.device == "cpu" || spec.forced.cross_nic == kCrossNicIfFaster || spec.nodes < 2) return;
  if (!stated || stated->channels == 0) return;
  notes.push_back(fmt::format(
      "nccl_settings.cross_nic of '{}' has no effect on groups of whole nodes: the channels that "
      "graph.multi_node states keep their NIC. Write graph.multi_node: search to leave them to NCCL's search.",
      spec.name));
}

// Only a file states such a rate itself: fits state the rate of channels for switches alone.
void note_idle_channel_rate(const ClusterSpec& spec, std::vector<std::string>& notes) {
  if (spec.nvlink.kind == NvlinkKind::nvswitch) return;
  std::vector<std::string> idle;
  for (const auto& [kind, reaches] : spec.overheads)
    if (reaches.in_node.channel_rate) idle.push_back(fmt::format("overheads.{}.in_node.channel_rate", kind));
  if (idle.empty()) return;
  notes.push_back(fmt::format("{} of '{}' {} no effect: no NVSwitch joins the GPUs of a node.", join(idle), spec.name,
                              idle.size() == 1 ? "has" : "have"));
}

void note_idle_gpu_keys(const ClusterSpec& spec, std::vector<std::string>& notes) {
  std::vector<std::string> idle = keys_without_effect(spec.gpu);
  if (std::erase(idle, "gpu.launch_overhead") > 0)
    notes.push_back(
        fmt::format("gpu.launch_overhead of '{}' has no effect: launches by the host are those of the "
                    "software. Set software.launch.",
                    spec.name));
  if (idle.empty()) return;
  notes.push_back(fmt::format("{} of '{}' {} an effect with the compute model gpu_kernels alone.", join(idle),
                              spec.name, idle.size() == 1 ? "has" : "have"));
}

}  // namespace

std::vector<std::string> idle_key_notes(const ClusterSpec& spec) {
  std::vector<std::string> notes;
  note_latencies(spec, notes);
  note_without_nccl(spec, notes);
  note_idle_gpu_keys(spec, notes);
  note_idle_spine(spec, notes);
  note_idle_cross_nic(spec, notes);
  note_idle_channel_rate(spec, notes);
  note_idle_hardware_rate(spec, notes);
  return notes;
}

std::string ranks_text(const FitRange& range) {
  if (range.ranks_to == range.ranks_from) return fmt::format("{}", range.ranks_from);
  if (range.ranks_to == 0) return fmt::format("{} and more", range.ranks_from);
  return fmt::format("{} to {}", range.ranks_from, range.ranks_to);
}

std::vector<std::string> fit_reach_notes(const ClusterSpec& spec) {
  const int ranks = spec.nodes * spec.gpu.count;
  std::map<std::pair<std::string_view, std::string>, std::vector<std::string>> kinds;  // by what is taken, their ranks
  for (const auto& [kind, reaches] : spec.overheads) {
    const OverheadSpec& across = reaches.across_nodes;
    if (spec.nodes < 2 || !across.holds_for || !is_beyond(*across.holds_for, ranks)) continue;
    const CallShape all{*collective_kind_named(kind), {ranks, spec.nodes, spec.gpu.count, spec.gpu.count}, 0};
    kinds[{taken_beyond_fit(all, spec), ranks_text(*across.holds_for)}].push_back(kind);
  }
  std::vector<std::string> notes;
  for (const auto& [fit, names] : kinds)
    notes.push_back(
        fmt::format("The overheads of {} across nodes of '{}' are fitted for groups of {} ranks, and all nodes "
                    "together are {}: such groups take {}.",
                    join(names), spec.name, fit.second, ranks, fit.first));
  return notes;
}

std::string unclaimed_network(const ClusterSpec& spec) {
  if (!spec.nics || spec.device == "cpu") return "";
  const Transport& transport = transport_of(spec.nics->transport);
  return is_claimed(spec, transport) ? "" : std::string(transport.name);
}

bool is_calibrated(std::string_view transport) {
  return transport_of(transport).calibrated;
}

std::vector<std::string> cluster_notes(const ClusterSpec& spec) {
  std::vector<std::string> notes;
  if (lacks_nvlink(spec))
    notes.push_back(
        fmt::format("'{}' has GPUs of the model {} without NVLinks, which their boards always have: if its file "
                    "was imported from a description that hides them, these times are several times too long. "
                    "Add the key nvlink.",
                    spec.name, spec.gpu.model));
  if (spec.nics && spec.nodes > 1 && spec.device != "cpu") {
    note_transport(spec, notes);
    note_rate_basis(spec, notes);
    note_nic_hardware(spec, notes);
    note_slots(spec, notes);
  }
  note_host_copies(spec, notes);
  note_ranges(spec, notes);
  note_unfitted(spec, notes);
  for (std::string& note : idle_key_notes(spec)) notes.push_back(std::move(note));
  return notes;
}

}  // namespace shardsim
