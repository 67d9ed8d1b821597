#pragma once

#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "plan/placement_load.h"
#include "topology/graph/cluster.h"

namespace shardsim::search {

// Times of collectives when nothing else runs, for a search that asks many thousand times: the results of shardsim's
// own models (models/collective/collective.h), computed once and kept in a form that is quick to evaluate.
//
// The loads of an all-to-all on links are linear in its bytes, and alike on all nodes: one call per GPU of a node gives
// the bytes of every link of the destination's node and of any other node. Starts and efficiencies, which may depend on
// the size, are taken from an even call of the next smaller power of two. Reductions are interpolated between sizes a
// quarter of a power of two apart.
class ExchangeTimes {
 public:
  explicit ExchangeTimes(const Cluster& cluster);

  // Seconds from the arrival of the last member to the end on each rank: `bytes` as LoadStep::bytes_to, one number per
  // position of the group. Adds into nothing: `seconds` [rank] is overwritten.
  void all_to_all(const std::vector<double>& bytes, LoadStep::Reach reach, bool returns, std::vector<double>& seconds);

  // Times for which the busiest NIC, and the busiest link inside a node, move bytes of a call: other calls at the same
  // time have to wait for them.
  struct Occupied {
    double nic = 0, local = 0;  // seconds
  };
  const Occupied& occupied() const { return occupied_by_call_; }  // of the last call asked for

  // Seconds of a collective of another kind in one group of that reach. All groups run side by side.
  double reduction(CollectiveKind kind, LoadStep::Reach reach, double bytes);

 private:
  using Reach = LoadStep::Reach;
  // Occupancy of each link of a node per byte that every member sends to one destination.
  struct PerByte {
    std::vector<std::vector<double>> home, away;  // [GPU of the destination][link of the node]
    double leaf = 0;                              // of a leaf's links, per byte that crosses them
  };
  struct Reduction {
    double seconds = 0;
    Occupied occupied;
  };
  struct Size {
    double start = 0, factor = 1;  // of the linear loads
  };

  const PerByte& per_byte(Reach reach, bool returns);
  PerByte probe(Reach reach, bool returns) const;
  Size size(Reach reach, bool returns, double bytes);
  Size measured_size(Reach reach, bool returns, int exponent);
  double moved(const std::vector<double>& bytes, Reach reach, bool returns, std::vector<double>& seconds);
  void world_links(const std::vector<double>& bytes, const PerByte& rates);
  void node_links(const std::vector<double>& bytes, const PerByte& rates);
  void cross_links(const std::vector<double>& bytes, const PerByte& rates);
  double leaf_seconds(const std::vector<double>& bytes, double per_byte, int rank) const;
  std::vector<std::vector<int>> groups(Reach reach) const;
  Reduction measured_reduction(CollectiveKind kind, Reach reach, double bytes) const;

  const Cluster& cluster_;
  int world_, nodes_, per_node_, links_;    // links of a node
  std::vector<std::vector<int>> links_of_;  // [GPU] links of its node that have it, or its NIC, as an end
  std::vector<double> rate_;                // [link of the cluster]
  std::vector<double> occupied_;            // [link of the cluster], scratch
  std::map<std::pair<Reach, bool>, PerByte> per_byte_;
  std::map<std::tuple<Reach, bool, int>, Size> sizes_;
  std::map<std::tuple<CollectiveKind, Reach, int>, Reduction> reductions_;
  Occupied occupied_by_call_;
  std::vector<char> is_nic_;  // [link of a node]
  bool leaves_ = false;
};

}  // namespace shardsim::search
