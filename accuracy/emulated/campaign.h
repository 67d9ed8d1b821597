#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "program/timeline/timeline.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// Nodes of an emulated cluster and the ranks on each: rank r is on node r / ranks_per_node.
struct NodeShape {
  int nodes = 2;
  int ranks_per_node = 4;
  int world_size() const { return nodes * ranks_per_node; }
  bool operator==(const NodeShape&) const = default;
};

// The way in which an item of the campaign is judged. guard: not at all, its times say what the links really carry;
// nic_bound and fast_or_mixed: predicted / observed - 1 must lie in the band of that kind; fault: the same under a slow
// NIC; reported: printed alone.
enum class JudgedAs { guard, nic_bound, fast_or_mixed, fault, reported };

// The name of a kind, and its band. The band is not symmetric, because the model does not include the work of the CPU
// and is therefore faster than the sockets.
struct Band {
  std::string_view name;
  double low = -HUGE_VAL, high = HUGE_VAL;  // of guard and reported: everything
  bool holds(double error) const { return error >= low && error <= high; }
};
const Band& band_of(JudgedAs judged);

// One collective, or a few, that the ranks run and the simulator predicts.
struct CampaignItem {
  std::string name;        // "a2a_direct"
  std::int64_t bytes = 0;  // its size argument
  JudgedAs judged = JudgedAs::reported;
  Program program;

  std::string label() const;  // "a2a_direct 128 KiB"
};

std::vector<std::string> campaign_names();  // of every item that campaign_program() knows

// Returns the work of the ranks under that name, as a Program of one iteration without compute; `bytes` is the size
// argument (docs/emulated.md lists what each item does with it). Items between nodes need two nodes, items inside a
// node two ranks on it. Errors (Failure::input): an unknown name (lists the known ones), a shape that is too small.
Program campaign_program(std::string_view name, std::int64_t bytes, const NodeShape& shape);

// Items that show the rates of the two tiers: two sizes point to point on each.
std::vector<CampaignItem> guard_items(const NodeShape& shape);
// The judged items, and skewed pairwise exchange, which is only reported.
std::vector<CampaignItem> gated_items(const NodeShape& shape);
// The same under a NIC at half rate: what it slows and what it must not.
std::vector<CampaignItem> straggler_items(const NodeShape& shape);

// Each item simulated on the cluster, one iteration that starts alone; in processes of their own (SimGrid allows one
// engine per process). Errors: those of the simulation, naming the item.
std::vector<Timeline> predict_items(const std::vector<CampaignItem>& items, const ClusterSpec& cluster);

// The shipped cluster file of the emulated cluster, in another shape. Errors: the file cannot be read.
ClusterSpec emulated_cluster_spec(const NodeShape& shape);

// The same with both tiers at a share of their rates, as at_share() of its links.
ClusterSpec with_rate_share(ClusterSpec cluster, double share);

// The same with one rank's NIC at half rate.
ClusterSpec with_straggler(ClusterSpec cluster, int rank);

// From the first start to the last end of each iteration that the Timeline kept, in ms, in order; the last end of one
// stream where one is given.
std::vector<double> makespans_ms(const Timeline& timeline, std::optional<int> stream = {});

}  // namespace shardsim
