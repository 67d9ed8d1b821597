#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/compute/compute_model.h"
#include "program/program.h"
#include "program/timeline/timeline.h"
#include "sim/engine/network.h"
#include "sim/engine/op_work.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// One stretch of a critical path: an operation, or one phase of a collective, on one rank.
struct PathStep {
  // work: computes (or the host works); start: a collective before its bytes move; transfer: its bytes, on the link
  // that this rank waits for longest; held: a rank that ran ahead waits for an iteration to end; rest: the iteration
  // differs by so little from the one before it.
  enum class Kind { work, start, transfer, held, rest };
  Kind kind = Kind::work;
  int op = -1;        // of the Program; -1: held, rest
  int rank = -1;      // one that stands for all like it (NodeClasses)
  int iteration = 0;  // 0: that of the path, -1: the one before it
  double start = 0;   // seconds on the clock of the run
  double seconds = 0;
  double slowed = 0;  // of `seconds`: lost because a link, or the GPU, is shared
  int link = -1;      // transfer: of the cluster; -1: nothing moves for this rank
  int beside = -1;    // the operation with which a slowed transfer shares its link longest; -1: none
  double drawn = 1;   // transfer: of its link's rate, the most that the collective's own algorithm takes
  bool operator==(const PathStep&) const = default;
};

// The time by which an operation could take longer in every iteration before iterations get longer, on the rank where
// that is least. Exact where nothing is shared: two operations that share a link or a GPU also slow each other.
struct OpSlack {
  double seconds = 0;  // 0 on the path; negative: the operation runs nowhere
  int rank = -1;
  bool operator==(const OpSlack&) const = default;
};

// The steps that set the length of an iteration (sim/engine/critical_path.h). The seconds of the steps add up to
// `seconds`.
struct CriticalPath {
  double seconds = 0;           // of the iteration that was looked at
  bool repeats = false;         // the steps are one turn of a way that every iteration takes
  int turns = 1;                // iterations that this turn covers; of their steps the seconds per iteration are given
  std::vector<PathStep> steps;  // in the order of time; empty: not known
  std::vector<OpSlack> slack;   // [op]
  std::vector<double>
      beneath;  // [op] seconds of what GPUs have to do while it runs over their hosts (critical_path.cpp)
  bool operator==(const CriticalPath&) const = default;
};

struct EngineOptions {
  int iterations = 4;       // at most, and the next ones while the last two differ, until there are
  int most_iterations = 0;  // so many; 0: none beyond `iterations`
  double steady = 1e-6;     // relative difference of two iterations that counts as steady
  std::map<std::string, std::string> algorithms;  // collective kind -> algorithm name; absent: auto
};

// Busy share of one link (or of compute) over the steady iteration.
struct Utilisation {
  std::string what;  // "node0/nic3/out", "rank 3 compute"
  double share = 0;
  bool operator==(const Utilisation&) const = default;
};

struct SimulationResult {
  Timeline timeline;               // the steady iteration
  Utilisation busiest;             // what limits the iteration
  std::optional<double> change{};  // of the last iteration's time against the one before, relative; nothing after one
  CriticalPath path{};             // of the kept iteration
  // Where collectives run in one of several iterations, of which the kept one is the mean
  // (sim/engine/engine.cpp).
  struct Rare {
    Seconds without, with;  // an iteration without them, and with all of them
  };
  std::optional<Rare> rare{};
};

// Executes the Program on the modelled cluster: streams in order, compute by the model, collectives as link loads that
// share capacity on `network`. A collective starts when every member of its group has arrived; a rank that arrives
// early waits in it, as a kernel does. Nodes that cannot be told apart are simulated once and their spans repeated
// (sim/engine/node_classes.h), so a symmetric program on 128 nodes costs what one node costs.
// Errors: Failure::run when the Program cannot proceed.
SimulationResult simulate(const Program& program, const Cluster& cluster, const ComputeModel& compute, Network& network,
                          const EngineOptions& options);

struct OpWork;
// The same with operations that are expanded already, one per operation (sim/engine/op_work.h).
SimulationResult simulate_works(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                                Network& network, const EngineOptions& options);

// The steady iteration of that simulation, without the figures that take long to find out.
struct SteadyIteration {
  Seconds time;
  Utilisation busiest;
  Timeline timeline;  // without traffic: bytes that ranks read and exchange are left out
  CriticalPath path;  // without slack and what its steps are beside
};
SteadyIteration steady_iteration(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                                 Network& network, const EngineOptions& options);

// A simulation, and how long an iteration takes on another network, `other`: what both need is found out once.
struct ComparedSimulation {
  SimulationResult result;
  Seconds other;
};
ComparedSimulation simulate_on_both(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                                    Network& network, Network& other, const EngineOptions& options);

// Returns the length of the steady iteration, and nothing else.
Seconds iteration_time(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                       Network& network, const EngineOptions& options);

// The stream of a rank that limits an iteration of so many seconds: the one that works longest, collectives apart.
// Streams overlap, so each counts by itself. The host works ahead of the GPU, so it is the limit only if the GPU waits
// for it. If the host is busiest, but has idle time and no GPU waits for it, the busiest of the other streams is
// returned.
Utilisation limiting_rank(const Program& program, const std::vector<OpWork>& works, const Timeline& timeline,
                          double iteration_seconds);

}  // namespace shardsim
