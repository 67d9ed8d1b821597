#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "validate/comparison/comparison_report.h"
#include "validate/emulated/emulated_shape.h"

namespace shardsim {

struct ScenarioRoundOptions {
  int warmup = 2;
  int iterations = 10;        // observed, back to back
  bool bench_compute = true;  // predict compute by the micro-benchmark on as many processes; else as the scenario says
  std::function<bool()> interrupted = {};
};

// Whole iterations of a scenario's cases, predicted and observed.
struct ScenarioRound {
  std::string unfit;                         // why it could not be judged here; then the rest is empty
  ComparisonReport report;                   // every case
  std::vector<std::string> judged;           // what was judged, a phrase each: "row_wise: iteration -3.4 % of 10 %"
  std::vector<std::string> outside;          // what of it misses its tolerance
  std::vector<std::string> predicted_order;  // names of the cases, the fastest first
  std::vector<std::string> observed_order;

  bool holds() const { return outside.empty() && predicted_order == observed_order; }
};

// The least of the iterations is judged: the noise of a shared machine only lengthens. An iteration may be off by this
// much, and a collective that takes so long and shares its tier with no other.
inline constexpr double kIterationTolerancePct = 10;
inline constexpr double kCollectiveTolerancePct = 12;
inline constexpr double kJudgedCollectiveMs = 50;

// Times compute on this machine, predicts every case, builds its cluster of name spaces in this process, runs the same
// Programs there, compares. A NIC that the cluster file has at a lower rate is slow there, too. Errors: Failure::input
// for a cluster that name spaces cannot stand for; those of run_study; Failure::run when a rank fails; Interrupted.
ScenarioRound validate_emulated_scenario(Scenario scenario, const ScenarioRoundOptions& options);

// Shape and shapers that give the cluster's payload rates. Errors: Failure::input naming what cannot be emulated.
EmulatedShape shape_of(const ClusterSpec& spec);

// What of one case is judged, and what misses its tolerance.
struct Verdict {
  std::vector<std::string> judged, outside;
};
Verdict verdict_of(const TimelineComparison& comparison, const Timeline& predicted);

// Whether some other collective runs on the same rank and tier at the same time; `op`: index into Timeline::ops.
bool shares_its_tier(const Timeline& timeline, int op);

// The micro-benchmark on as many processes of this machine as there are ranks, all at once, as the ranks of an emulated
// cluster share its processors: gather and update of the workloads' row widths and optimizers at a few sizes, a copy,
// matrix products. Sizes do not come from any plan. Returns the table that the compute model `measured` reads; times
// are medians over repetitions and ranks. Errors: Failure::run when a process fails.
std::string bench_on_ranks(int ranks, const std::vector<const Workload*>& workloads);

std::string round_text(const ScenarioRound& round, int width, bool colour);
std::string round_json(const ScenarioRound& round);  // shardsim.comparison/1 with what is above besides

}  // namespace shardsim
