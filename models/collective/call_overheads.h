#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/collective_kind.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// The distribution of a group's members over the nodes of the cluster.
struct GroupShape {
  int members = 0;
  int nodes = 0;  // nodes touched
  int max_per_node = 0;
  int min_per_node = 0;
  bool across_nodes() const { return nodes > 1; }
};

// The properties of a call that decide which of the cluster's overheads it takes.
struct CallShape {
  CollectiveKind kind = CollectiveKind::all_to_all;
  GroupShape group;
  std::int64_t bytes = 0;  // as nccl-tests counts; of an uneven all_to_all the most that a rank sends or receives
};

// The overheads that the cluster states for calls of that kind and reach. Across nodes, groups of another size take
// what a calibration fitted for the nearest one, or, of other constants and beyond the ranks of the constants before
// the calibration, too, a mix with the public defaults that never makes larger groups faster; calls that are smaller
// than all that a calibration measured take what it fitted in part; both with larger errors. Other calls of sizes or
// wirings that the constants do not hold for (`holds_for`) take those before the calibration, or the public defaults.
OverheadSpec overhead_of(const CallShape& call, const Cluster& cluster);
OverheadSpec overhead_of(const CallShape& call, const ClusterSpec& spec);

// True of constants that a calibration made.
bool is_measured(const OverheadSpec& stated);

// The call itself, or the nearest one that its overheads were fitted for where they are extrapolated to it.
CallShape nearest_fitted(const CallShape& call, const ClusterSpec& spec);

// True of a group that is larger than the constants before a calibration hold for, which were fitted to more ranks than
// were calibrated: it is told with no narrower an interval than they are.
bool is_guessed_beyond(const CallShape& call, const ClusterSpec& spec);

// True when the cluster states which share of the NICs' rate such calls reach across nodes. Then these calls are timed
// by their loads on links, also inside a node, and not by NCCL's own model, which has no such share.
bool timed_by_loads(const CallShape& call, const Cluster& cluster);

// Why the values that were fitted for the kind and reach of a call are not used for it: "1024 ranks (fitted for 32)";
// "" if they are used.
std::string outside_fit(const CallShape& call, const Cluster& cluster);

// Says what such a call takes instead: "the public defaults".
std::string_view taken_outside_fit(const CallShape& call, const Cluster& cluster);

// "128 ranks (fitted for 64), 1 KiB (fitted from 1 MiB on)" if the values that were fitted are used for a group of
// another size than was measured, or in part for a call that is smaller than all that were; else "".
std::string extrapolated_fit(const CallShape& call, const Cluster& cluster);

// Says what such a call takes: "what was fitted for the nearest size, extrapolated, with wider intervals".
std::string_view taken_beyond_fit(const CallShape& call, const ClusterSpec& spec);

// Why a fitted nvb_efficiency does not hold for a call of these ranks, although it is used for the call; "" if it
// holds, or nothing is relayed. Across nodes the NICs are the limit, not the relays.
std::string outside_relay_fit(const CallShape& call, const std::vector<int>& ranks, const Cluster& cluster);

}  // namespace shardsim
