#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "plan/iteration_outline.h"
#include "plan/placement_load.h"
#include "plan/search/exchange_time.h"

namespace shardsim::search {

// The work that a placement adds to one operation: an amount for all ranks (or positions of a group, or groups), and
// extra amounts for some.
struct Share {
  struct Amount {
    double hbm_bytes = 0, lookups = 0, host_seconds = 0;  // of a collective `hbm_bytes` are the bytes exchanged
    double table_seconds = 0;                             // that its tables add to a call (seconds_by_tables())
  };
  // The units that the indices of `extra` count. For a placement on a rank or node of its own the indices are those
  // that it would have on rank 0 or node 0.
  enum class Counts { ranks, nodes, other };
  int op = 0;
  Counts counts = Counts::ranks;
  Amount all;
  std::vector<std::pair<int, Amount>> extra;
};

// Where a placement lies that was counted for rank 0 or node 0; both 0: as counted.
struct Shift {
  int rank = 0, node = 0;
};

// The closed form of one iteration of a plan whose placements come and go: sums of what they add by operation and rank,
// and the schedule of the operations, which is the lowering's (IterationOutline). Every fused lookup is one kernel,
// every fused exchange one collective. No transfer slows another, and operations that only later iterations would delay
// are not seen.
class IterationCost {
 public:
  IterationCost(IterationOutline outline, const Workload& workload, const Cluster& cluster,
                const ComputeModel& compute);

  // The shares that the steps of a load add, in this outline. Steps that it does not have are left out.
  std::vector<Share> shares_of(const PlacementLoad& load) const;
  bool has(const LoadStep& step) const { return by_key_.contains(step.key); }

  void add(const std::vector<Share>& shares, const Shift& shift, int times);  // times: 1, or -1 to take away
  void clear();

  double seconds();  // of an iteration
  // Seconds that the placements keep each rank busy, computing or exchanging; after seconds().
  const std::vector<double>& busy() const { return busy_; }

 private:
  struct Node {
    OutlineOp op;
    std::vector<int> after, after_previous;  // indices of nodes
    std::vector<int> waits, waits_previous;  // the same, of those that are there
    // The kind of its work; known once a placement adds to it.
    bool known = false;
    LoadStep step;                       // without amounts
    std::optional<double> call_seconds;  // without lookups, of a kernel that goes table by table
    Share::Counts counts = Share::Counts::ranks;
    enum class Measured { no, lookup, update };
    Measured measured = Measured::no;
    // The work that it is given.
    int count = 0;  // placements
    Share::Amount all;
    std::vector<Share::Amount> extra;
    int extras = 0;
    // Computed from these: seconds of each rank, for a collective from the last arrival on.
    bool stale = true;
    std::vector<double> seconds, ends, before;  // before: ends of the previous iteration
    double longest = 0;
    // For a collective: the seconds that it occupies links, the time at which its bytes begin to move, and its delay by
    // others.
    double nic = 0, local = 0, moving = 0, delay = 0;
  };

  void learn(Node& node, const LoadStep& step) const;
  double amount_seconds(const Node& node, const Share::Amount& amount, int rank);
  void refresh(Node& node);
  void refresh_compute(Node& node);
  void refresh_collective(Node& node);
  void hold_measured();
  void connect();
  bool present(const Node& node) const { return node.op.key.empty() || node.count > 0; }
  double schedule(int iterations);
  bool meets() const;
  void find_delays();
  void share_links(double Node::*work);
  std::size_t next_transfer() const;
  double share_until(double now, double until, double Node::*work);
  double begin_of(const Node& node) const { return node.moving + late_[static_cast<std::size_t>(node.op.stream)]; }
  void run(Node& node, int iteration);
  void run_collective(Node& node, std::vector<double>& start, std::vector<double>& free);

  const Workload& workload_;
  const Cluster& cluster_;
  const ComputeModel& compute_;
  ComputeModel::OnGpu seconds_on_gpu_;
  ExchangeTimes exchanges_;
  std::size_t world_, nodes_, per_node_;
  int streams_;
  bool pipelined_;
  mutable std::vector<Node> ops_;
  std::map<std::string, int> by_key_;
  std::vector<int> there_;                    // operations that the placements have, in launch order
  bool connected_ = false;                    // while they stay the same
  ComputeWork work_;                          // scratch
  std::vector<std::vector<double>> free_;     // [stream][rank]
  std::vector<double> busy_, start_, bytes_;  // scratch
  // Transfers that share a link: what is left of those that move, seconds; those to come; how late each stream is.
  std::vector<std::pair<Node*, double>> sharing_;
  std::vector<Node*> waiting_;
  std::vector<double> late_;
};

}  // namespace shardsim::search
