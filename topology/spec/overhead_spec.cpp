#include "topology/spec/overhead_spec.h"

#include <fmt/format.h>

#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

// `nic_efficiency: graph`, plain or as the value of a sourced map.
bool says_graph(const Tree& map) {
  const Tree* value = map.find("nic_efficiency");
  if (value != nullptr && value->kind == Tree::Kind::map) value = value->find("value");
  return value != nullptr && value->kind == Tree::Kind::scalar && value->scalar == "graph";
}

// True where the value says where it is from.
bool has_source(const Tree& map, std::string_view key) {
  const Tree* const value = map.find(key);
  return value != nullptr && value->kind == Tree::Kind::map && value->find("source") != nullptr;
}

bool is_exchange(std::string_view kind) {
  return kind == "all_to_all" || kind == "send_recv";
}

// Somebody may know that NCCL's estimate is low, and say how. No port carries more than its rate.
void refuse_unexplained(Fields& map, double efficiency, std::string_view kind) {
  if (efficiency <= 1 || !map.reading()) return;
  const std::string value = shortest(efficiency);
  map.refuse_if(is_exchange(kind), "efficiency",
                fmt::format("an efficiency of {}: no port of a GPU carries more than its rate", value),
                "State at most 1, or other rates of the links");
  map.refuse_if(!has_source(map.reader().tree(), "efficiency"), "efficiency",
                fmt::format("an efficiency of {}: more than the bandwidth that NCCL reckons with", value),
                "State at most 1, or say why it is more: {value: " + value + ", source: ...}");
}

// Numbers that are written are stated, and `fits` leaves them alone: what nobody stated stays unwritten.
bool has_say(const ClusterSpec& spec, const std::string& kind, const OverheadSpec& overhead, bool across_nodes) {
  return overhead != default_overhead(kind, across_nodes) ||
         spec.places.states_within(fmt::format("overheads.{}.{}", kind, across_nodes ? "across_nodes" : "in_node"));
}

}  // namespace

std::optional<double> HeldOutCalls::scale(std::int64_t bytes) const {
  if (bytes < 64 * kKiB) return below_64kib;
  if (bytes < kMiB) return from_64kib;
  return bytes < 64 * kMiB ? from_1mib : from_64mib;
}

void nic_efficiency_key(Fields& map, std::optional<double>& efficiency) {
  LeafReader<double> leaf = efficiency_leaf();
  leaf.also = {{Form::Kind::choice, {"graph"}}};
  const char* const help = "the share of the line rate that the kind reaches (a guess)";
  if (map.writing() && !efficiency) return map.writer().put("nic_efficiency", "graph");
  if (!map.reading() || !says_graph(map.reader().tree()))
    return map.usual("all_to_all, send_recv 0.9; else `graph`").take("nic_efficiency", efficiency, leaf, help);
  map.reader().choice("nic_efficiency", {"graph"});
  efficiency.reset();
}

void OverheadConstants::keys(Fields& map, std::string_view kind, bool across_nodes) {
  map.usual("all_to_all, send_recv \"60 us\"; else \"0 s\"").take("start", start, "time of a call before bytes move");
  if (map.reading()) beside_start = map.reader().is_fitted("start") ? 0 : 1;
  map.usual("all_to_all across nodes \"5 us\"; else \"0 s\"")
      .take("per_remote_peer", per_remote_peer, "only across nodes: added once for each peer on another node");
  map.take("efficiency", efficiency, factor_leaf(2),  // above 1: faster than NCCL's estimate
           "the share of NCCL's own bandwidth that the kind reaches; for all_to_all and send_recv, the share of the "
           "rate of the GPUs' ports. Above 1 only with a source, never with `fitted: true` nor of ports");
  refuse_fit_above_one(map);
  refuse_unexplained(map, efficiency, kind);
  map.take("fill", fill, "what a pipeline loses per chunk: adds 2 sqrt(`fill` x time of the bytes)");
  map.usual("`fill`, or as fitted")
      .take(
          "nvls_fill", nvls_fill,
          "the same where NCCL runs NVLS or NVLSTree, whose chunks go through the switch on both sides of the network");
  map.take("latency_share", latency_share, factor_leaf(100),
           "the share of NCCL's latency that is visible as time; not for all_to_all and send_recv");
  map.take("plateau", plateau,
           "only all_reduce across nodes: whether the factor (1.4 or 1.9) by which NCCL raises the latency of rings "
           "at large sizes is visible as time. It decides NCCL's choice of an algorithm in any case");
  if (across_nodes) {
    nic_efficiency_key(map, nic_efficiency);
    map.usual("the line rate")
        .take("nic_rate", nic_rate,
              "the most that one NIC carries for the kind, whatever its line rate, for example because processors "
              "copy its bytes (TCP). A faster NIC does not raise it");
  } else {
    map.usual("no limit, or as fitted")
        .take("channel_rate", channel_rate,
              "only all_to_all and send_recv over an NVSwitch: the rate of one of the channels that NCCL gives to a "
              "pair of GPUs ([collectives.md](../collectives.md))");
  }
  map.usual("every call").take("holds_for", holds_for, "the range for which these constants were fitted, see below");
  refuse_foreign(map, kind, across_nodes);
}

void OverheadSpec::keys(Fields& map, std::string_view kind, bool across_nodes) {
  OverheadConstants::keys(map, kind, across_nodes);
  map.take("held_out", held_out,
           "how far a calibration's predictions of calls that it left out were off, see below. `cluster calibrate` "
           "writes this key");
  map.map("before", before,
          "the constants before the calibration, which calls that it did not measure take or lean on, see below. "
          "`cluster calibrate` writes this key",
          [&](Fields& inside, OverheadConstants& held) {
            if (inside.reading()) held = default_overhead(std::string(kind), across_nodes);
            held.keys(inside, kind, across_nodes);
          });
}

// An efficiency above 1 that came of a fit makes up for other constants.
void OverheadConstants::refuse_fit_above_one(Fields& map) const {
  map.refuse_if(
      efficiency > 1 && map.reading() && map.reader().is_fitted("efficiency"), "efficiency",
      fmt::format("an efficiency of {} came of a fit: more than the bandwidth that there is", shortest(efficiency)),
      "Calibrate again: `shardsim cluster calibrate` fits at most 1");
}

void OverheadConstants::refuse_foreign(Fields& map, std::string_view kind, bool across_nodes) const {
  map.refuse_if(is_exchange(kind) && latency_share != 1, "latency_share",
                fmt::format("latency_share has no effect on {}: NCCL's cost model does not time it", kind),
                "Remove it, and set start instead");
  map.refuse_if(is_exchange(kind) && nvls_fill, "nvls_fill",
                fmt::format("nvls_fill has no effect on {}: NCCL does not run NVLS for it", kind),
                "Remove it, and set fill instead");
  map.refuse_if(!plateau && (kind != "all_reduce" || !across_nodes), "plateau",
                "NCCL raises the latency of rings (plateau) for all_reduce across nodes alone",
                "Remove it, or write it in all_reduce.across_nodes");
  map.refuse_if(!is_exchange(kind) && channel_rate, "channel_rate",
                fmt::format("channel_rate has no effect on {}: NCCL's graph gives the rate of its channels", kind),
                "Remove it, and state graph.one_node instead");
  map.refuse_if(!across_nodes && per_remote_peer.value > 0, "per_remote_peer",
                "a group inside one node has no peers on other nodes", "Remove it, or write it in across_nodes");
}

// The overhead of a kind that the file does not mention. 60 us: the smallest all-to-all messages of two public A100
// systems; 5 us per remote peer: between InfiniBand (3 to 9) and Slingshot (11 to 12); 0.90: the middle of the
// published 0.80 to 0.98, a guess.
OverheadSpec default_overhead(const std::string& kind, bool across_nodes) {
  OverheadSpec overhead;
  const bool peer_to_peer = is_exchange(kind);
  if (peer_to_peer) overhead.start = {60e-6};
  if (kind == "all_to_all" && across_nodes) overhead.per_remote_peer = {5e-6};
  if (peer_to_peer && across_nodes) overhead.nic_efficiency = 0.90;
  return overhead;
}

void ClusterSpec::overhead_keys(Fields& map) {
  map.take("launch_overhead", launch_overhead, "added to each call, except of all_to_all and send_recv");
  for (const char* kind : {"all_gather", "all_reduce", "all_to_all", "broadcast", "reduce_scatter", "send_recv"}) {
    OverheadPair& reaches = overheads[kind];
    if (!map.writing()) reaches = {default_overhead(kind, false), default_overhead(kind, true)};
    const auto is_said = [&](bool across) {
      return !map.writing() || has_say(*this, kind, across ? reaches.across_nodes : reaches.in_node, across);
    };
    const auto reach = [&](Fields& inside, const char* key, OverheadSpec& overhead, bool across) {
      if (is_said(across)) inside.map(key, "", [&](Fields& constants) { overhead.keys(constants, kind, across); });
    };
    if (!is_said(false) && !is_said(true)) continue;
    map.map(kind, "the constants of one kind of collective", [&](Fields& inside) {
      reach(inside, "in_node", reaches.in_node, false);
      reach(inside, "across_nodes", reaches.across_nodes, true);
    });
  }
}

}  // namespace shardsim
