#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "validate/measurements/overhead_fit.h"

namespace shardsim {
namespace {

constexpr double kMicro = 1e-6, kGiga = 1e9;
constexpr double kMostEfficiency = 2, kMostLatencyShare = 100;  // as the reader of cluster files
constexpr double kStartOfNone = 1e-6, kFillOfNone = 0.25e-6;    // priors of what a file says is 0

// Costs may be off by a factor of e or more, efficiencies by some percent, the rate of a channel by a third.
constexpr double kCostSpread = 1, kEfficiencySpread = 0.15, kChannelSpread = 0.3;

// What a key is called, how it is read and written, and what it may be.
struct KeyEntry {
  const char* name;
  bool is_time;
  double of_none;  // where the prior says 0
  double most;
  double (*get)(const OverheadSpec&);
  void (*put)(OverheadSpec&, double);
};

using In = const OverheadSpec&;
using Out = OverheadSpec&;

// In the order of CalibratedKey. A start that is written is marked as fitted, as a reader of the file marks it.
constexpr KeyEntry kKeys[] = {
    {"start", true, kStartOfNone, HUGE_VAL, [](In from) { return from.start.value; },
     [](Out to, double value) {
       to.start = {value};
       to.start_is_fitted = true;
     }},
    {"per_remote_peer", true, kStartOfNone, HUGE_VAL, [](In from) { return from.per_remote_peer.value; },
     [](Out to, double value) { to.per_remote_peer = {value}; }},
    {"fill", true, kFillOfNone, HUGE_VAL, [](In from) { return from.fill.value; },
     [](Out to, double value) { to.fill = {value}; }},
    {"latency_share", false, 0, kMostLatencyShare, [](In from) { return from.latency_share; },
     [](Out to, double value) { to.latency_share = value; }},
    {"efficiency", false, 0, kMostEfficiency, [](In from) { return from.efficiency; },
     [](Out to, double value) { to.efficiency = value; }},
    {"nic_efficiency", false, 0, 1, [](In from) { return from.nic_efficiency.value_or(1); },
     [](Out to, double value) { to.nic_efficiency = value; }},
    {"channel_rate", false, 0, HUGE_VAL, nullptr, nullptr}};  // of the cluster, not of an overhead

const KeyEntry& entry_of(CalibratedKey key) {
  return kKeys[static_cast<std::size_t>(key)];
}

const OverheadSpec* find_overhead(const ClusterSpec& spec, const CalibratedNumber& number) {
  const auto found = spec.overheads.find(std::string(collective_kind_name(number.kind)));
  if (found == spec.overheads.end()) return nullptr;
  return number.across_nodes ? &found->second.across_nodes : &found->second.in_node;
}

OverheadSpec& overhead(ClusterSpec& spec, const CalibratedNumber& number) {
  OverheadPair& pair = spec.overheads[std::string(collective_kind_name(number.kind))];
  return number.across_nodes ? pair.across_nodes : pair.in_node;
}

void put(ClusterSpec& spec, const CalibratedNumber& number, double value) {
  if (number.key == CalibratedKey::channel_rate) {
    spec.p2p.channel_rate = {value};
    return;
  }
  entry_of(number.key).put(overhead(spec, number), value);
}

// Ranks of a row on other nodes than one of its ranks.
int remote_peers(const MeasuredRow& row) {
  return (row.nodes - 1) * row.gpus_per_node;
}

class ParameterList {
 public:
  ParameterList(const std::vector<MeasuredRow>& rows, const ClusterSpec& spec) : rows_(rows), spec_(spec) {}

  void add_kind(CollectiveKind kind) {
    common(CalibratedKey::start, kind, kCostSpread);
    common(CalibratedKey::fill, kind, kCostSpread);
    if (timed_by_nccl(kind, spec_)) common(CalibratedKey::latency_share, kind, kCostSpread);
    for (bool across : reaches(kind)) list.push_back({{{CalibratedKey::efficiency, kind, across}}, kEfficiencySpread});
    if (!reaches(kind).contains(true)) return;
    if (!timed_by_nccl(kind, spec_)) list.push_back({{{CalibratedKey::nic_efficiency, kind, true}}, kEfficiencySpread});
    if (differs_in_peers(kind)) list.push_back({{{CalibratedKey::per_remote_peer, kind, true}}, kCostSpread});
    if (is_peer_to_peer(kind)) needs_channel_rate = true;
  }

  std::vector<CalibratedParameter> list;
  bool needs_channel_rate = false;

 private:
  void common(CalibratedKey key, CollectiveKind kind, double spread) {
    CalibratedParameter parameter{{}, spread};
    for (bool across : reaches(kind)) parameter.numbers.push_back({key, kind, across});
    list.push_back(std::move(parameter));
  }

  std::set<bool> reaches(CollectiveKind kind) const {
    std::set<bool> found;
    for (const MeasuredRow& row : rows_)
      if (row.kind == kind) found.insert(row.nodes > 1);
    return found;
  }

  // Else the cost per peer cannot be told from the start.
  bool differs_in_peers(CollectiveKind kind) const {
    std::set<int> peers;
    for (const MeasuredRow& row : rows_)
      if (row.kind == kind && row.nodes > 1) peers.insert(remote_peers(row));
    return peers.size() > 1;
  }

  const std::vector<MeasuredRow>& rows_;
  const ClusterSpec& spec_;
};

// Calls `visit` with every start that the launch overhead is added to.
template <typename Visit>
void for_launched_starts(ClusterSpec& spec, Visit visit) {
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    if (is_peer_to_peer(kind)) continue;
    for (bool across : {false, true}) {
      const CalibratedNumber number{CalibratedKey::start, kind, across};
      OverheadSpec& target = overhead(spec, number);
      if (timed_by_nccl(kind, spec) || !target.start_is_fitted) visit(number, target.start);
    }
  }
}

}  // namespace

std::string CalibratedNumber::path() const {
  if (key == CalibratedKey::channel_rate) return "p2p.channel_rate";
  return fmt::format("overheads.{}.{}.{}", collective_kind_name(kind), across_nodes ? "across_nodes" : "in_node",
                     entry_of(key).name);
}

double number_in(const ClusterSpec& spec, const CalibratedNumber& number) {
  if (number.key == CalibratedKey::channel_rate) return spec.p2p.channel_rate.bytes_per_second;
  const OverheadSpec* const from = find_overhead(spec, number);
  return from == nullptr ? 0 : entry_of(number.key).get(*from);
}

std::string number_text(const CalibratedNumber& number, double value, int digits) {
  if (entry_of(number.key).is_time) return fmt::format("{:.{}g} us", value / kMicro, digits);
  if (number.key == CalibratedKey::channel_rate) return fmt::format("{:.{}g} GB/s", value / kGiga, digits);
  return fmt::format("{:.{}g}", value, digits);
}

void set_number(ClusterSpec& spec, const CalibratedNumber& number, const std::string& text) {
  const Place place{number.path()};
  if (entry_of(number.key).is_time) return put(spec, number, parse_seconds(text, place).value);
  if (number.key == CalibratedKey::channel_rate)
    return put(spec, number, parse_bandwidth(text, place).bytes_per_second);
  put(spec, number, parse_real(text, place));
}

double scaled_number(const ClusterSpec& prior, const CalibratedNumber& number, double logarithm) {
  const double stated = number_in(prior, number), base = stated > 0 ? stated : entry_of(number.key).of_none;
  return std::min(base * std::exp(logarithm), entry_of(number.key).most);
}

ClusterSpec scaled(const ClusterSpec& prior, const std::vector<CalibratedParameter>& parameters,
                   const std::vector<double>& logarithms) {
  ClusterSpec spec = prior;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    for (const CalibratedNumber& number : parameters[i].numbers)
      put(spec, number, scaled_number(prior, number, logarithms[i]));
  return spec;
}

std::vector<CalibratedParameter> parameters_of(const std::vector<MeasuredRow>& rows, const ClusterSpec& spec) {
  ParameterList parameters(rows, spec);
  for (const CollectiveKind kind : kAllCollectiveKinds) {
    const bool is_measured = std::ranges::find(rows, kind, &MeasuredRow::kind) != rows.end();
    if (is_measured) parameters.add_kind(kind);
  }
  if (parameters.needs_channel_rate)
    parameters.list.push_back({{{CalibratedKey::channel_rate, {}, true}}, kChannelSpread});
  return std::move(parameters.list);
}

bool timed_by_nccl(CollectiveKind kind, const ClusterSpec& spec) {
  if (is_peer_to_peer(kind) || spec.device == "cpu") return false;
  const OverheadSpec* const across = find_overhead(spec, {CalibratedKey::start, kind, true});
  return across == nullptr || !across->nic_efficiency;
}

ClusterSpec with_launch_in_starts(ClusterSpec spec) {
  const Seconds launch = spec.launch_overhead;
  for_launched_starts(spec, [&](const CalibratedNumber&, Seconds& start) { start = start + launch; });
  spec.launch_overhead = {};
  return spec;
}

ClusterSpec with_common_launch(ClusterSpec spec, Seconds most) {
  const auto text = [](Seconds time) { return fmt::format("{:.6g} us", time.us()); };
  Seconds common = most;
  for_launched_starts(spec, [&](const CalibratedNumber&, Seconds& start) { common = std::min(common, start); });
  if (common < most) common = parse_seconds(text(common), {"launch_overhead"});
  spec.launch_overhead = common;
  for_launched_starts(spec, [&](const CalibratedNumber& number, Seconds& start) {
    const std::string left = text(std::max(Seconds{}, start - common));
    start = parse_seconds(left, {number.path()});
    for (SourcedValue& source : spec.sources)
      if (source.path == number.path()) source.value = left;
  });
  return spec;
}

}  // namespace shardsim
