#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "models/learned/learned_costs.h"
#include "plan/planner.h"

namespace shardsim {

// Some columns of a table with all of its rows, and everything else that costs and holds the same: tables that differ
// in their names alone, both halves of a table. A planner knows a kind by its place in a PieceKinds.
struct PieceKind {
  std::size_t table = 0;     // one such table of the workload
  std::int64_t columns = 0;  // of it
  double width = 0;          // elements that its owner sends per sample: columns times vectors
  double bytes = 0;          // that it takes of its owner's memory, more than of any other rank's
  double everywhere = 0;     // that it takes of every rank's
  double seconds = 0;        // predicted, alone on a rank
  bool splits = false;       // whether its columns may be halved
};

// A plan as costs see it: kinds[i] lies on rank rank_of[i].
struct ShardedPieces {
  std::span<const int> kinds;
  std::span<const std::uint16_t> rank_of;
  std::span<const double> shard_seconds;  // by rank
};

// Predicts how long a rank computes for the pieces that it holds: their lookups, and the backward pass with the update.
// Keeps one growing shard per rank. Sums are extended in the order of additions, so that the same pieces in the same
// order give the same bits.
class ShardCosts {
 public:
  virtual ~ShardCosts() = default;
  // Gets to know the next kind (0, 1, ...) by the placement of such a piece.
  virtual void learn(const Placement& piece) = 0;
  virtual void clear(int rank) = 0;
  virtual void add(int rank, int kind) = 0;
  virtual double seconds(int rank) = 0;
};

// Predicts an iteration of a whole plan from the seconds of its shards and the exchanges between them: the gradients
// come back, every rank updates and looks up, the vectors go out (NeuroShard, Zha et al., MLSys 2023, section 3;
// daochenzha/neuroshard simulator.py at ec7ca74: the largest sum of the three over the ranks).
class PlanCosts {
 public:
  virtual ~PlanCosts() = default;
  virtual void learn(const PieceKind& kind, const Placement& piece) = 0;
  // Seconds of each plan. If the seconds of plan i are limits[i] or more, any number that is limits[i] or more may be
  // returned for it, so the computation can stop early.
  virtual void seconds(std::span<const ShardedPieces> plans, std::span<const double> limits,
                       std::span<double> seconds) = 0;
  // The number of plans that are best asked about at once.
  virtual std::size_t batch() const = 0;
};

// The steps of an iteration that shards are asked about.
enum class ShardSteps { all, forward, backward };  // backward: with the update

// In the numbers of the lowering, with the seconds of the case's compute model and of its cluster's collectives. A rank
// computes for the sum of its pieces' amounts. The host is asked as long as these live.
// `with_inputs`: the exchange of ids counts too (the papers leave it out).
std::unique_ptr<ShardCosts> closed_form_shard_costs(const Workload& workload, const Cluster& cluster,
                                                    const PlannerContext& context, ShardSteps steps = ShardSteps::all);
std::unique_ptr<PlanCosts> closed_form_plan_costs(const Cluster& cluster, const PlannerContext& context,
                                                  bool with_inputs);

// By rank: how many times the seconds of a rank without fault its kernels take.
std::vector<double> slowness(const Cluster& cluster);

// Learned from labels. The nets of exchanges serve one node, with as many ranks as they were trained for.
// Errors of learn() (Failure::input): a sequence table.
std::unique_ptr<ShardCosts> learned_shard_costs(const LearnedCosts& costs, const Workload& workload, int world);
std::unique_ptr<PlanCosts> learned_plan_costs(const LearnedCosts& costs, int world);

}  // namespace shardsim
