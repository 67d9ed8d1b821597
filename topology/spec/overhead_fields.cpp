#include <fmt/format.h>

#include "topology/spec/spec_fields.h"

namespace shardsim {
namespace {

constexpr double kMostEfficiency = 2;  // above 1: faster than NCCL's estimate
constexpr double kMostLatencyShare = 100;
constexpr int kMostIndex = 1'000'000;

// `nic_efficiency: graph`, plain or as the value of a sourced map.
bool says_graph(const Tree& map) {
  const Tree* value = map.find("nic_efficiency");
  if (value != nullptr && value->kind == Tree::Kind::map) value = value->find("value");
  return value != nullptr && value->kind == Tree::Kind::scalar && value->scalar == "graph";
}

void nic_efficiency_field(SpecFields& fields, OverheadSpec& overhead) {
  if (!fields.reading()) {
    return fields.writer().put("nic_efficiency",
                               overhead.nic_efficiency ? shortest(*overhead.nic_efficiency) : "graph");
  }
  MapReader& reader = fields.reader();
  note_key(reader.tree(), "nic_efficiency", Form{Form::Kind::choice, {"graph"}});
  if (says_graph(reader.tree())) {
    reader.choice("nic_efficiency", {"graph"});
    overhead.nic_efficiency.reset();
  } else if (reader.has("nic_efficiency")) {
    overhead.nic_efficiency = reader.efficiency("nic_efficiency", 1);
  }
}

void nic_rate_field(SpecFields& fields, OverheadSpec& overhead) {
  fields.take("nic_rate", overhead.nic_rate);
  if (overhead.nic_rate && overhead.nic_rate->bytes_per_second <= 0) {
    throw input_error(fields.reader().place_of("nic_rate"), "a NIC that carries nothing ends no collective",
                      "Write a rate above 0, or leave nic_rate out");
  }
}

bool is_exchange(std::string_view kind) {
  return kind == "all_to_all" || kind == "send_recv";
}

// Constants that the kind's model does not have. Their defaults are taken: a written cluster holds every key.
void refuse_foreign(MapReader& reader, const OverheadSpec& overhead, std::string_view kind, bool across_nodes) {
  if (is_exchange(kind) && overhead.latency_share != 1) {
    throw input_error(reader.place_of("latency_share"),
                      fmt::format("latency_share has no effect on {}: NCCL's cost model does not time it", kind),
                      "Remove it, and set start instead");
  }
  if (!overhead.plateau && (kind != "all_reduce" || !across_nodes)) {
    throw input_error(reader.place_of("plateau"),
                      "NCCL raises the latency of rings (plateau) for all_reduce across nodes alone",
                      "Remove it, or write it in all_reduce.across_nodes");
  }
  if (!across_nodes && overhead.per_remote_peer.value > 0) {
    throw input_error(reader.place_of("per_remote_peer"), "a group inside one node has no peers on other nodes",
                      "Remove it, or write it in across_nodes");
  }
}

// A stated efficiency may say that NCCL's estimate is low; one above 1 that came of a fit makes up for other constants.
void refuse_fit_above_one(MapReader& reader, double efficiency) {
  if (efficiency <= 1 || !reader.is_fitted("efficiency")) return;
  throw input_error(
      reader.place_of("efficiency"),
      fmt::format("an efficiency of {} came of a fit: more than the bandwidth that there is", shortest(efficiency)),
      "Calibrate again: `shardsim cluster calibrate` fits at most 1");
}

void held_out_call_fields(SpecFields& fields, HeldOutCalls& held_out) {
  fields.take("rows", held_out.rows, kMostIndex);
  fields.take_scale("below_64kib", held_out.below_64kib);
  fields.take_scale("from_64kib", held_out.from_64kib);
  fields.take_scale("from_1mib", held_out.from_1mib);
  fields.take_scale("from_64mib", held_out.from_64mib);
}

void reach_fields(SpecFields& fields, OverheadSpec& overhead, std::string_view kind, bool across_nodes) {
  fields.take("start", overhead.start);
  if (fields.reading()) overhead.start_is_fitted = fields.reader().is_fitted("start");
  fields.take("per_remote_peer", overhead.per_remote_peer);
  fields.take_part("efficiency", overhead.efficiency, kMostEfficiency);
  if (fields.reading()) refuse_fit_above_one(fields.reader(), overhead.efficiency);
  fields.take("fill", overhead.fill);
  fields.take_part("latency_share", overhead.latency_share, kMostLatencyShare);
  fields.take("plateau", overhead.plateau);
  if (across_nodes) nic_efficiency_field(fields, overhead);
  if (across_nodes) nic_rate_field(fields, overhead);
  fields.map("holds_for", overhead.holds_for, range_fields);
  fields.map("held_out", overhead.held_out, held_out_call_fields);
  if (fields.reading()) refuse_foreign(fields.reader(), overhead, kind, across_nodes);
}

// Numbers that are written are stated, and `fits` leaves them alone: what nobody stated stays unwritten.
bool has_say(const ClusterSpec& spec, const std::string& kind, const OverheadSpec& overhead, bool across_nodes) {
  return overhead != default_overhead(kind, across_nodes) ||
         spec.places.states_within(fmt::format("overheads.{}.{}", kind, across_nodes ? "across_nodes" : "in_node"));
}

void check_fault(MapReader& reader, const FaultSpec& fault, const Place& place) {
  if (fault.gpu.has_value() == fault.nic.has_value()) {
    throw input_error(place, "a fault names one GPU or one NIC", "Write gpu or nic, not both");
  }
  if (!reader.has("rate_factor") && !reader.has("compute_factor")) {
    throw input_error(place, "the fault states no effect", "Write rate_factor or compute_factor");
  }
  if (fault.nic && fault.compute_factor != 1) {
    throw input_error(place, "compute_factor has no meaning for a NIC", "Write compute_factor together with gpu");
  }
}

}  // namespace

std::optional<double> HeldOutCalls::scale(std::int64_t bytes) const {
  if (bytes < 64 * kKiB) return below_64kib;
  if (bytes < kMiB) return from_64kib;
  return bytes < 64 * kMiB ? from_1mib : from_64mib;
}

void range_fields(SpecFields& fields, FitRange& range) {
  fields.take("bytes_from", range.bytes_from);
  fields.take("bytes_to", range.bytes_to);
  fields.take("ranks_from", range.ranks_from, kMostRanks);
  fields.take("ranks_to", range.ranks_to, kMostRanks);
  fields.choose("nvlink", range.nvlink, {"switch", "mesh", "none"});
  if (!fields.reading()) return;
  if (range.bytes_to && *range.bytes_to < range.bytes_from) {
    throw input_error(fields.reader().place_of("bytes_to"), "bytes_to is below bytes_from", "Write the larger one");
  }
  if (range.ranks_to > 0 && range.ranks_to < range.ranks_from) {
    throw input_error(fields.reader().place_of("ranks_to"), "ranks_to is below ranks_from", "Write the larger one");
  }
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

void overheads_fields(SpecFields& fields, ClusterSpec& spec) {
  fields.take("launch_overhead", spec.launch_overhead);
  for (const char* kind : {"all_gather", "all_reduce", "all_to_all", "broadcast", "reduce_scatter", "send_recv"}) {
    OverheadPair& reaches = spec.overheads[kind];
    if (fields.reading()) reaches = {default_overhead(kind, false), default_overhead(kind, true)};
    const auto writes = [&](bool across) {
      return fields.reading() || has_say(spec, kind, across ? reaches.across_nodes : reaches.in_node, across);
    };
    if (!writes(false) && !writes(true)) continue;
    fields.map(kind, [&](SpecFields& inside) {
      if (writes(false))
        inside.map("in_node", [&](SpecFields& reach) { reach_fields(reach, reaches.in_node, kind, false); });
      if (writes(true))
        inside.map("across_nodes", [&](SpecFields& reach) { reach_fields(reach, reaches.across_nodes, kind, true); });
    });
  }
}

void fault_fields(SpecFields& fields, FaultSpec& fault, const Place& place) {
  if (fields.reading()) {
    MapReader& reader = fields.reader();
    fault.node = read_index(reader.required("node"), kMostIndex, "node");
    if (reader.has("gpu")) fault.gpu = read_index(reader.required("gpu"), kMostIndex, "GPU");
    if (reader.has("nic")) fault.nic = read_index(reader.required("nic"), kMostIndex, "NIC");
  } else {
    fields.writer().put("node", std::to_string(fault.node));
    if (fault.gpu) fields.writer().put("gpu", std::to_string(*fault.gpu));
    if (fault.nic) fields.writer().put("nic", std::to_string(*fault.nic));
  }
  fields.take_part("rate_factor", fault.rate_factor, 1);
  fields.take_part("compute_factor", fault.compute_factor, 1);
  if (fields.reading()) check_fault(fields.reader(), fault, place);
}

}  // namespace shardsim
