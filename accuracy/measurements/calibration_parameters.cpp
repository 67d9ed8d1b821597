#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "accuracy/measurements/calibration.h"
#include "accuracy/measurements/overhead_fit.h"

namespace shardsim {
namespace {

constexpr double kMicro = 1e-6, kGiga = 1e9;
constexpr double kMostLatencyShare = 100;                     // as the reader of cluster files
constexpr double kMostEfficiency = 1;                         // no fit gives a node more than it has
constexpr double kStartOfNone = 1e-6, kFillOfNone = 0.25e-6;  // priors of what a file says is 0

// Costs may be off by a factor of e or more, efficiencies by some percent, the rate of a channel by a third.
constexpr double kCostSpread = 1, kEfficiencySpread = 0.15, kChannelSpread = 0.3;

// The name of a key, its unit, the prior where the file says 0, and the most that it may be.
struct KeyEntry {
  const char* name;
  const char* unit;
  double in_unit;  // one of the unit, in s, bytes/s or as a plain number
  double of_none;
  double most;
};

// In the order of CalibratedKey.
constexpr KeyEntry kKeys[] = {{"start", " us", kMicro, kStartOfNone, HUGE_VAL},
                              {"per_remote_peer", " us", kMicro, kStartOfNone, HUGE_VAL},
                              {"fill", " us", kMicro, kFillOfNone, HUGE_VAL},
                              {"nvls_fill", " us", kMicro, kFillOfNone, HUGE_VAL},
                              {"latency_share", "", 1, 0, kMostLatencyShare},
                              {"efficiency", "", 1, 0, kMostEfficiency},
                              {"nic_efficiency", "", 1, 0, 1},
                              {"channel_rate", " GB/s", kGiga, 0, HUGE_VAL}};

const KeyEntry& entry_of(CalibratedKey key) {
  return kKeys[static_cast<std::size_t>(key)];
}

OverheadSpec& overhead(ClusterSpec& spec, const CalibratedNumber& number) {
  return overheads_of(spec, number.kind, number.across_nodes);
}

// The number, about to be fitted: a start is marked so, as a reader of the file marks it.
double& number_of(ClusterSpec& spec, const CalibratedNumber& number) {
  if (number.is_shared()) return spec.p2p.channel_rate.bytes_per_second;
  OverheadSpec& of = overhead(spec, number);
  switch (number.key) {
    case CalibratedKey::start:
      of.beside_start = 0;
      return of.start.value;
    case CalibratedKey::per_remote_peer:
      return of.per_remote_peer.value;
    case CalibratedKey::fill:
      return of.fill.value;
    case CalibratedKey::nvls_fill:
      return of.nvls_fill ? of.nvls_fill->value : of.nvls_fill.emplace(of.fill).value;
    case CalibratedKey::latency_share:
      return of.latency_share;
    case CalibratedKey::nic_efficiency:
      return of.nic_efficiency ? *of.nic_efficiency : of.nic_efficiency.emplace(1);
    default:
      return of.efficiency;
  }
}

// Adds the parameters that the rows of one kind can tell.
void add_kind(std::vector<CalibratedParameter>& list, CollectiveKind kind, const std::vector<MeasuredRow>& rows,
              const ClusterSpec& spec) {
  std::set<bool> reaches;  // across nodes?
  std::set<int> peers;     // on other nodes; where all rows have as many their cost cannot be told from the start
  for (const MeasuredRow& row : rows) {
    if (row.kind != kind) continue;
    reaches.insert(row.nodes > 1);
    if (row.nodes > 1) peers.insert((row.nodes - 1) * row.gpus_per_node);
  }
  for (bool across : reaches) {
    list.push_back({{{CalibratedKey::start, kind, across}}, kCostSpread});
    list.push_back({{{CalibratedKey::fill, kind, across}}, kCostSpread});
    const OverheadPair& stated = spec.overheads.at(std::string(collective_kind_name(kind)));
    if ((across ? stated.across_nodes : stated.in_node).nvls_fill)
      list.push_back({{{CalibratedKey::nvls_fill, kind, across}}, kCostSpread});
    if (timed_by_nccl(kind, spec)) list.push_back({{{CalibratedKey::latency_share, kind, across}}, kCostSpread});
    list.push_back({{{CalibratedKey::efficiency, kind, across}}, kEfficiencySpread});
  }
  if (peers.empty()) return;
  if (!timed_by_nccl(kind, spec)) list.push_back({{{CalibratedKey::nic_efficiency, kind, true}}, kEfficiencySpread});
  if (peers.size() > 1) list.push_back({{{CalibratedKey::per_remote_peer, kind, true}}, kCostSpread});
}

// Calls `visit` with the path and value of every start that the launch overhead is added to.
template <typename Visit>
void for_launched_starts(ClusterSpec& spec, Visit visit) {
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    if (is_peer_to_peer(kind)) continue;
    const auto add = [&](OverheadConstants& constants, const std::string& path) {
      if (timed_by_nccl(kind, spec) || !constants.start_is_fitted()) visit(path, constants.start);
    };
    for (bool across : {false, true}) {
      const std::string reach = reach_path(kind, across);
      OverheadSpec& target = overheads_of(spec, kind, across);
      add(target, reach + ".start");
      if (target.before) add(*target.before, reach + ".before.start");
    }
  }
}

}  // namespace

OverheadSpec& overheads_of(ClusterSpec& spec, CollectiveKind kind, bool across_nodes) {
  OverheadPair& pair = spec.overheads[std::string(collective_kind_name(kind))];
  return across_nodes ? pair.across_nodes : pair.in_node;
}

std::string reach_path(CollectiveKind kind, bool across_nodes) {
  return fmt::format("overheads.{}.{}", collective_kind_name(kind), across_nodes ? "across_nodes" : "in_node");
}

std::string CalibratedNumber::path() const {
  if (is_shared()) return "p2p.channel_rate";
  return fmt::format("{}.{}", reach_path(kind, across_nodes), entry_of(key).name);
}

double number_in(ClusterSpec spec, const CalibratedNumber& number) {
  return number_of(spec, number);
}

std::string number_text(const CalibratedNumber& number, double value, int digits) {
  const KeyEntry& entry = entry_of(number.key);
  return fmt::format("{:.{}g}{}", value / entry.in_unit, digits, entry.unit);
}

void set_number(ClusterSpec& spec, const CalibratedNumber& number, const std::string& text) {
  number_of(spec, number) = fitted_number(text, {number.path()});
}

ClusterSpec scaled(const ClusterSpec& prior, const std::vector<CalibratedParameter>& parameters,
                   const std::vector<double>& logarithms) {
  ClusterSpec spec = prior;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (const CalibratedNumber& number : parameters[i].numbers) {
      const KeyEntry& entry = entry_of(number.key);
      double& value = number_of(spec, number);
      value = std::min((value > 0 ? value : entry.of_none) * std::exp(logarithms[i]), entry.most);
    }
  }
  return spec;
}

std::vector<CalibratedParameter> parameters_of(const std::vector<MeasuredRow>& rows, const ClusterSpec& spec) {
  std::vector<CalibratedParameter> list;
  for (const CollectiveKind kind : kAllCollectiveKinds)
    if (std::ranges::find(rows, kind, &MeasuredRow::kind) != rows.end()) add_kind(list, kind, rows, spec);
  const auto uses_channels = [](const MeasuredRow& row) { return is_peer_to_peer(row.kind) && row.nodes > 1; };
  if (std::ranges::any_of(rows, uses_channels))
    list.push_back({{{CalibratedKey::channel_rate, {}, true}}, kChannelSpread});
  return list;
}

bool timed_by_nccl(CollectiveKind kind, const ClusterSpec& spec) {
  if (is_peer_to_peer(kind) || spec.device == "cpu") return false;
  const auto stated = spec.overheads.find(std::string(collective_kind_name(kind)));
  return stated == spec.overheads.end() || !stated->second.across_nodes.nic_efficiency;
}

ClusterSpec with_launch_in_starts(ClusterSpec spec) {
  const Seconds launch = spec.launch_overhead;
  for_launched_starts(spec, [&](const std::string&, Seconds& start) { start = start + launch; });
  spec.launch_overhead = {};
  return spec;
}

ClusterSpec with_common_launch(ClusterSpec spec, Seconds most) {
  const auto text = [](Seconds time) { return fmt::format("{:.6g} us", time.us()); };
  Seconds common = most;
  for_launched_starts(spec, [&](const std::string&, Seconds& start) { common = std::min(common, start); });
  if (common < most) common = parse_seconds(text(common), {"launch_overhead"});
  spec.launch_overhead = common;
  for_launched_starts(spec, [&](const std::string& path, Seconds& start) {
    const std::string left = text(std::max(Seconds{}, start - common));
    start = parse_seconds(left, {path});
    for (SourcedValue& source : spec.sources)
      if (source.path == path) source.value = left;
  });
  return spec;
}

void note_fitted(ClusterSpec& spec, SourcedValue value, double error_pct) {
  value.fitted = true;
  if (error_pct >= 0) value.error_unused_pct = parse_real(fmt::format("{:.4g}", error_pct), {value.path});
  std::erase_if(spec.sources, [&](const SourcedValue& old) { return old.path == value.path; });
  spec.sources.push_back(std::move(value));
}

double fitted_number(const std::string& text, const Place& place) {
  if (text.ends_with("/s")) return parse_bandwidth(text, place).bytes_per_second;
  if (text.ends_with("s")) return parse_seconds(text, place).value;
  return parse_real(text, place);
}

}  // namespace shardsim
