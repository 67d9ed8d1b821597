#include <fmt/format.h>

#include "base/text.h"
#include "topology/spec/readers.h"

namespace shardsim {
namespace {

constexpr double kMostEfficiency = 2;  // above 1: faster than NCCL's estimate
constexpr double kMostLatencyShare = 100;

// `nic_efficiency: graph`, plain or as the value of a sourced map.
bool says_graph(const Tree& map) {
  const Tree* value = map.find("nic_efficiency");
  if (value != nullptr && value->kind == Tree::Kind::map) value = value->find("value");
  return value != nullptr && value->kind == Tree::Kind::scalar && value->scalar == "graph";
}

// Above 0 and at most `most`; 1 when absent.
double factor(MapReader& reader, std::string_view key, double most) {
  const double value = reader.real(key, 1);
  if (value > 0 && value <= most) return value;
  throw input_error(reader.place_of(key), fmt::format("{} is out of range", shortest(value)),
                    fmt::format("Write a number above 0 and at most {}", shortest(most)));
}

OverheadSpec read_overhead(MapReader reader, OverheadSpec defaults, bool across_nodes) {
  OverheadSpec overhead = defaults;
  overhead.start = reader.time("start", defaults.start);
  overhead.start_is_fitted = reader.is_fitted("start");
  overhead.per_remote_peer = reader.time("per_remote_peer", defaults.per_remote_peer);
  overhead.efficiency = factor(reader, "efficiency", kMostEfficiency);
  overhead.fill = reader.time("fill", defaults.fill);
  overhead.latency_share = factor(reader, "latency_share", kMostLatencyShare);
  overhead.plateau = reader.flag("plateau", defaults.plateau);
  if (across_nodes && says_graph(reader.tree())) {
    reader.text("nic_efficiency");
    overhead.nic_efficiency.reset();
  } else if (across_nodes && reader.has("nic_efficiency")) {
    overhead.nic_efficiency = reader.efficiency("nic_efficiency", 1);
  }
  reader.finish();
  return overhead;
}

}  // namespace

// What the document gives a kind that the file does not mention. 60 us: the smallest all-to-all messages of two public
// A100 systems; 5 us per remote peer: between InfiniBand (3 to 9) and Slingshot (11 to 12); 0.90: the middle of the
// published 0.80 to 0.98, a guess.
OverheadSpec default_overhead(const std::string& kind, bool across_nodes) {
  OverheadSpec overhead;
  const bool peer_to_peer = kind == "all_to_all" || kind == "send_recv";
  if (peer_to_peer) overhead.start = {60e-6};
  if (kind == "all_to_all" && across_nodes) overhead.per_remote_peer = {5e-6};
  if (peer_to_peer && across_nodes) overhead.nic_efficiency = 0.90;
  return overhead;
}

void read_overheads(MapReader reader, ClusterSpec& spec) {
  spec.launch_overhead = reader.time("launch_overhead", spec.launch_overhead);
  for (const char* kind : {"all_gather", "all_reduce", "all_to_all", "broadcast", "reduce_scatter", "send_recv"}) {
    MapReader reaches = reader.map(kind);
    spec.overheads[kind] = {read_overhead(reaches.map("in_node"), default_overhead(kind, false), false),
                            read_overhead(reaches.map("across_nodes"), default_overhead(kind, true), true)};
    reaches.finish();
  }
  reader.finish();
}

}  // namespace shardsim
