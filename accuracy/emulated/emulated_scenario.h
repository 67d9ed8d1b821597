#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/emulated/emulated_shape.h"
#include "base/document/document.h"
#include "base/statistics.h"
#include "study/result/drawn_figures.h"
#include "study/scenario/scenario.h"
#include "validate/comparison/comparison_report.h"

namespace shardsim {

struct ScenarioRoundOptions {
  int warmup = 2;
  int iterations = 10;        // observed, back to back
  Seconds at_least{0};        // cases that are predicted to take less in all get more iterations
  bool bench_compute = true;  // predict compute by the micro-benchmark on as many processes; else as the scenario says
  std::function<bool()> interrupted = {};
  // The same cases with other settings, whose predictions are laid beside the same observation and not judged.
  struct Beside {
    std::vector<std::string> settings;  // "load.row_shares=even"
    Scenario scenario;                  // as many cases, of the same names
  };
  std::optional<Beside> beside = {};
};

// The errors of the prediction of one case, percent: 100 (predicted - observed) / observed.
struct CaseMiss {
  std::string case_name;
  ComparedTime iteration;
  std::optional<double> iteration_pct;  // of the median
  struct OfRank {
    int rank = 0;
    std::string what;  // sent, received
    ComparedRank::Moved bytes;
  };
  std::optional<OfRank> worst_bytes;  // of the rank and direction that is off most; none: not known
};
CaseMiss miss_of(const TimelineComparison& comparison);

// The spread of the iterations of drawn batches, ms. Both sides have the same batches.
struct DrawnTimes {
  IterationSpread predicted, observed;
  std::size_t iterations = 0;
};
DrawnTimes drawn_times(const DrawnFigures& drawn, const Timeline& observed);

// Whole iterations of a scenario's cases, predicted and observed.
struct ScenarioRound {
  std::string unfit;                         // why it could not be judged here; then the rest is empty
  EmulatedShape shape;                       // as it was built
  double rate_share = 1;                     // of the rates that the cluster file states, see CarriedRates
  ComparisonReport report;                   // every case
  std::vector<std::string> judged;           // what was judged, a phrase each: "row_wise: iteration -3.4 % of 10 %"
  std::vector<std::string> outside;          // what of it misses its tolerance
  std::vector<std::string> predicted_order;  // names of the cases, the fastest first
  std::vector<std::string> observed_order;
  std::vector<std::optional<DrawnTimes>> drawn;  // [case] whose batches are drawn
  std::vector<std::string> beside_settings;      // of the predictions that are not judged
  std::vector<CaseMiss> beside;                  // by case; empty: none were asked for

  std::vector<CaseMiss> cases() const;  // of the predictions that are judged
  bool holds() const { return outside.empty() && predicted_order == observed_order; }
};

// A case is judged by its iteration, against the median observed; by the mean bytes that each rank sends and receives
// in an iteration, against those that the ranks counted; and by each collective that takes so long alone, without
// waiting, at the rates of the cluster file, and shares its tier with no other, against the least observed, for noise
// only lengthens. At the rates of the file, so that the same collectives are judged on every machine: what a prediction
// of even flows misses of a few frames is the same share of them at every rate (docs/emulated.md).
inline constexpr double kIterationTolerancePct = 8;
inline constexpr double kBytesTolerancePct = 1;
inline constexpr double kCollectiveTolerancePct = 12;
inline constexpr double kJudgedCollectiveMs = 50;
// A case of drawn batches is judged by the iteration, the bytes and, where so many iterations were run, their 95th
// percentile. That wants an idle machine: one late iteration of 50 moves it.
inline constexpr double kTailTolerancePct = 10;
inline constexpr std::size_t kLeastForTail = 40;

// Times compute on this machine, predicts every case, builds its cluster of namespaces in this process, runs the same
// Programs there, compares. In cases of expected batches the ranks exchange the ids that they draw, so that sizes vary
// about the expected ones; drawn batches are the same on both sides, iteration by iteration, and `warmup` is then that
// of the simulation. A NIC that the cluster file has at a lower rate is slow there, too. Where this machine does not
// carry the rates of the cluster, both sides have a half or a quarter of them. Errors: Failure::input for a cluster
// that namespaces cannot stand for; those of run_study; Failure::run when a rank fails; Interrupted.
ScenarioRound validate_emulated_scenario(Scenario scenario, ScenarioRoundOptions options);

// Shape and shapers that give the cluster's payload rates. Errors: Failure::input naming what cannot be emulated.
EmulatedShape shape_of(const ClusterSpec& spec);

// The figures of one case that are judged, and those that miss their tolerance.
struct Verdict {
  std::vector<std::string> judged, outside;
};
std::string bytes_text(const CaseMiss::OfRank& worst);
// rate_share: of the cluster file's rates, at which both sides ran.
Verdict verdict_of(const TimelineComparison& comparison, const Timeline& predicted, double rate_share);
Verdict verdict_of(const TimelineComparison& comparison, const DrawnTimes& drawn);

// True when some other collective runs on the same rank and tier at the same time; `op`: index into Timeline::ops.
bool shares_its_tier(const Timeline& timeline, int op);

// The micro-benchmark on as many processes of this machine as there are ranks, all at once, as the ranks of an emulated
// cluster share its processors: gather and update of the workloads' row widths and optimizers at a few sizes, a copy,
// matrix products. Sizes do not come from any plan. Returns the table that the compute model `measured` reads; times
// are medians over repetitions and ranks. Errors: Failure::run when a process fails.
std::string bench_on_ranks(int ranks, const std::vector<const Workload*>& workloads);

Document round_document(const ScenarioRound& round);
std::string round_json(const ScenarioRound& round);  // shardsim.comparison/1 with what is above besides

}  // namespace shardsim
