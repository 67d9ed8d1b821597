#include "models/collective/call_overheads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/collective/constant_between.h"
#include "models/collective/fitted_overheads.h"

namespace shardsim {
namespace {

// Readers of cluster files fill in every kind's defaults; null for a spec made by hand that lacks the kind.
const OverheadSpec* stated_overhead(const CallShape& call, const ClusterSpec& spec) {
  const auto found = spec.overheads.find(std::string(collective_kind_name(call.kind)));
  if (found == spec.overheads.end()) return nullptr;
  return call.group.across_nodes() ? &found->second.across_nodes : &found->second.in_node;
}

// The number of ranks within the range that is nearest to those of a group.
int nearest_ranks(const FitRange& range, int ranks) {
  const int at_least = std::max(ranks, range.ranks_from);
  return range.ranks_to > 0 ? std::min(at_least, range.ranks_to) : at_least;
}

std::string outside_ranks(const FitRange& range, int ranks) {
  if (nearest_ranks(range, ranks) == ranks) return "";
  return fmt::format("{} ranks (fitted for {})", ranks, ranks_text(range));
}

std::string below_bytes(const FitRange& range, Bytes bytes) {
  if (range.bytes_from <= bytes) return "";
  return fmt::format("{} (fitted from {} on)", to_text(bytes), to_text(range.bytes_from));
}

// The first thing about a call that a fit does not cover, "" when it covers all.
std::string outside(const FitRange& range, const CallShape& call, const ClusterSpec& spec) {
  const std::string_view wiring = nvlink_kind_name(spec.nvlink.kind);
  if (!range.nvlink.empty() && range.nvlink != wiring)
    return fmt::format("nvlink.kind {} (fitted on {})", wiring, range.nvlink);
  if (std::string ranks = outside_ranks(range, call.group.members); !ranks.empty()) return ranks;
  const Bytes bytes{call.bytes};
  if (std::string below = below_bytes(range, bytes); !below.empty()) return below;
  if (range.bytes_to && bytes > *range.bytes_to)
    return fmt::format("{} (fitted up to {})", to_text(bytes), to_text(*range.bytes_to));
  return "";
}

bool holds(const OverheadConstants& constants, const CallShape& call, const ClusterSpec& spec) {
  return !constants.holds_for || outside(*constants.holds_for, call, spec).empty();
}

// The call with the number of ranks across nodes that constants were fitted for and that is nearest to its own: they
// are those of the NICs and of NCCL on them, and do not become other ones, at a stroke, where there are more nodes or
// fewer.
CallShape of_fitted_ranks(const OverheadConstants& constants, CallShape call) {
  if (constants.holds_for && call.group.across_nodes())
    call.group.members = nearest_ranks(*constants.holds_for, call.group.members);
  return call;
}

// Likewise, and of the fewest bytes that a calibration measured where a call has less: what it was before goes on
// there.
CallShape of_fitted_size(const OverheadSpec& stated, const CallShape& call) {
  CallShape fitted = of_fitted_ranks(stated, call);
  if (stated.holds_for && is_measured(stated))
    fitted.bytes = std::max(fitted.bytes, stated.holds_for->bytes_from.count);
  return fitted;
}

OverheadConstants usual_constants(const CallShape& call) {
  return default_overhead(std::string(collective_kind_name(call.kind)), call.group.across_nodes());
}

// True when constants are taken for a call that they hold for but for its number of ranks, or for the bytes that a
// calibration measured.
bool reach(const OverheadSpec& stated, const CallShape& call, const ClusterSpec& spec) {
  return holds(stated, of_fitted_size(stated, call), spec);
}

// Constants for a call of more or fewer ranks than they hold for: mixed with the public defaults, half and half after
// each doubling, so that no time jumps where the measured sizes end. The rule is a guess. More ranks never make a call
// faster, so there the mix only lengthens what the constants themselves say.
OverheadConstants mixed_with_usual(const OverheadConstants& constants, const CallShape& call, int ranks,
                                   const ClusterSpec& spec) {
  const double doublings = std::abs(std::log2(static_cast<double>(call.group.members) / ranks));
  OverheadConstants mix = constant_between(usual_constants(call), constants, std::pow(.5, doublings));
  if (call.group.members <= ranks) return mix;
  // A start holds the launch where loads time the call; NCCL's own model adds it whatever the start.
  const bool holds_launch = !is_peer_to_peer(call.kind) && constants.nic_efficiency;
  return no_faster(constants, mix, holds_launch ? spec.launch_overhead : Seconds{});
}

// Constants that no calibration made.
OverheadConstants reaching(const OverheadConstants& constants, const CallShape& call, const ClusterSpec& spec) {
  if (holds(constants, call, spec)) return constants;
  OverheadSpec stated;
  static_cast<OverheadConstants&>(stated) = constants;
  if (!reach(stated, call, spec)) return usual_constants(call);
  return mixed_with_usual(constants, call, of_fitted_ranks(constants, call).group.members, spec);
}

// The most ranks that a calibration and the constants before it hold for; none where either has no limit.
std::optional<int> most_ranks(const OverheadSpec& stated) {
  const auto limit = [](const OverheadConstants& constants) {
    return constants.holds_for ? constants.holds_for->ranks_to : 0;
  };
  if (!stated.before || limit(stated) == 0 || limit(*stated.before) == 0) return std::nullopt;
  return std::max(limit(stated), limit(*stated.before));
}

// A group of more ranks than even the constants before a calibration hold for.
bool is_beyond_all(const OverheadSpec& stated, const CallShape& call) {
  const std::optional<int> most = most_ranks(stated);
  return most && call.group.across_nodes() && call.group.members > *most;
}

// The constants of a call that a calibration says nothing of.
OverheadConstants constants_beyond(const OverheadSpec& stated, const CallShape& call, const ClusterSpec& spec) {
  return stated.before ? reaching(*stated.before, call, spec) : usual_constants(call);
}

// The scale of what every doubling of ranks beyond those that were measured adds to the errors there: a guess, for few
// systems have published times at several numbers of nodes.
constexpr double kScaleOfDoubling = 0.1;

// Calls smaller than all that a calibration measured. Calibrations to the rows of 128 KiB and more, of 1 MiB and more,
// and of 16 MiB and more, of every published system and collective (27 of them), predicted the smaller rows best where
// the calibration's part in the constants halves with every four halvings of the size and the constants before it have
// the rest: off by 17 % in the mean of the sets, 24 with the calibration alone, 21 with the constants before, 28 with
// the public defaults. Beyond their own scatter errors grow within an octave or two to this scale.
constexpr double kOctavesOfHalf = 4, kScaleOfSmaller = 0.18;

// Writes what was fitted, for a call that it was not measured for, with the larger errors that it has there.
OverheadSpec extrapolated(const OverheadSpec& stated, const CallShape& call, const ClusterSpec& spec) {
  const CallShape measured = of_fitted_size(stated, call);
  OverheadSpec taken = stated;
  double more =
      kScaleOfDoubling * std::abs(std::log2(static_cast<double>(call.group.members) / measured.group.members));
  if (measured.bytes > call.bytes) {
    const double octaves =
        std::log2(static_cast<double>(measured.bytes) / static_cast<double>(std::max<std::int64_t>(1, call.bytes)));
    const double part = std::pow(.5, octaves / kOctavesOfHalf);
    CallShape smaller = measured;  // of the ranks that were measured: what holds for more of them is one question
    smaller.bytes = call.bytes;
    static_cast<OverheadConstants&>(taken) = constant_between(constants_beyond(stated, smaller, spec), stated, part);
    more = std::hypot(more, kScaleOfSmaller * (1 - std::pow(.5, octaves)));
    if (taken.held_out) {
      HeldOutCalls& scales = *taken.held_out;
      scales.below_64kib = scales.from_64kib = scales.from_1mib = scales.from_64mib =
          stated.held_out->scale(measured.bytes);
    }
  }
  // As the constants before it: a cluster that was calibrated to what they predict is predicted as it was.
  if (is_beyond_all(stated, call))
    static_cast<OverheadConstants&>(taken) = mixed_with_usual(taken, call, *most_ranks(stated), spec);
  if (taken.held_out)
    for (auto* const scale : taken.held_out->scales())
      if (*scale) *scale = std::hypot(**scale, more);
  return taken;
}

}  // namespace

bool is_measured(const OverheadSpec& stated) {
  return stated.held_out || stated.before;
}

OverheadSpec overhead_of(const CallShape& call, const Cluster& cluster) {
  return overhead_of(call, cluster.spec());
}

OverheadSpec overhead_of(const CallShape& call, const ClusterSpec& spec) {
  const OverheadSpec* const stated = stated_overhead(call, spec);
  if (stated == nullptr) return {};
  if (holds(*stated, call, spec)) return *stated;
  if (!is_measured(*stated)) return {reaching(*stated, call, spec), {}, {}};
  if (reach(*stated, call, spec)) return extrapolated(*stated, call, spec);
  return {constants_beyond(*stated, call, spec), {}, {}};
}

CallShape nearest_fitted(const CallShape& call, const ClusterSpec& spec) {
  const OverheadSpec* const stated = stated_overhead(call, spec);
  if (stated == nullptr || holds(*stated, call, spec)) return call;
  return reach(*stated, call, spec) ? of_fitted_size(*stated, call) : call;
}

bool is_guessed_beyond(const CallShape& call, const ClusterSpec& spec) {
  const OverheadSpec* const stated = stated_overhead(call, spec);
  return stated != nullptr && is_beyond_all(*stated, call) &&
         stated->holds_for->ranks_to < stated->before->holds_for->ranks_to;
}

bool timed_by_loads(const CallShape& call, const Cluster& cluster) {
  if (call.group.across_nodes()) return overhead_of(call, cluster).nic_efficiency.has_value();
  const auto found = cluster.spec().overheads.find(std::string(collective_kind_name(call.kind)));
  if (found == cluster.spec().overheads.end()) return false;
  const OverheadSpec& across = found->second.across_nodes;
  const bool other_wiring = across.holds_for && !across.holds_for->nvlink.empty() &&
                            across.holds_for->nvlink != nvlink_kind_name(cluster.spec().nvlink.kind);
  return across.nic_efficiency && !other_wiring;
}

std::string outside_fit(const CallShape& call, const Cluster& cluster) {
  const OverheadSpec* const stated = stated_overhead(call, cluster.spec());
  if (!stated || !stated->holds_for) return "";
  const std::string reason = outside(*stated->holds_for, call, cluster.spec());
  return reach(*stated, call, cluster.spec()) ? "" : reason;
}

std::string_view taken_outside_fit(const CallShape& call, const Cluster& cluster) {
  const OverheadSpec* const stated = stated_overhead(call, cluster.spec());
  const bool before =
      stated != nullptr && stated->before && reaching(*stated->before, call, cluster.spec()) != usual_constants(call);
  return before ? "the constants before the calibration" : "the public defaults";
}

std::string extrapolated_fit(const CallShape& call, const Cluster& cluster) {
  const OverheadSpec* const stated = stated_overhead(call, cluster.spec());
  if (!stated || holds(*stated, call, cluster.spec())) return "";
  if (!reach(*stated, call, cluster.spec())) return "";
  std::vector<std::string> reasons{outside_ranks(*stated->holds_for, call.group.members),
                                   below_bytes(*stated->holds_for, Bytes{call.bytes})};
  std::erase(reasons, "");
  return join(reasons);
}

std::string_view taken_beyond_fit(const CallShape& call, const ClusterSpec& spec) {
  const OverheadSpec* const stated = stated_overhead(call, spec);
  const bool mixes = stated != nullptr && stated->holds_for &&
                     nearest_ranks(*stated->holds_for, call.group.members) != call.group.members &&
                     (!is_measured(*stated) || is_beyond_all(*stated, call));
  return mixes ? "a mix of them with the public defaults, half and half after each doubling of the ranks, with wider "
                 "intervals"
               : "what was fitted for the nearest size, extrapolated, with wider intervals";
}

std::string outside_relay_fit(const CallShape& call, const std::vector<int>& ranks, const Cluster& cluster) {
  const auto& range = cluster.spec().nvlink.nvb_holds_for;
  if (!range || !is_peer_to_peer(call.kind) || call.group.across_nodes()) return "";
  for (int a : ranks)
    for (int b : ranks)
      if (a != b && cluster.local_route(cluster.gpu_of(a), cluster.gpu_of(b)).relay)
        return outside(*range, call, cluster.spec());
  return "";
}

}  // namespace shardsim
