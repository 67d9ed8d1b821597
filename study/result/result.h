#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "plan/flexshard_equations.h"
#include "plan/memory_model.h"
#include "plan/plan.h"
#include "program/timeline/kineto/merged_trace.h"
#include "program/timeline/named_times.h"
#include "sim/engine/engine.h"
#include "sim/memory/memory_profile.h"
#include "study/confidence/interval.h"
#include "study/confidence/path_times.h"
#include "study/planning/planner_comparison.h"
#include "study/result/choices.h"
#include "study/result/cross_check.h"
#include "study/result/drawn_figures.h"
#include "study/result/plan_matrix.h"
#include "study/result/rank_loads.h"
#include "study/scenario/scenario.h"
#include "study/why/why.h"

namespace shardsim {

// One published number beside ours.
struct Comparison {
  Published published;
  std::optional<double> predicted;  // at the planned payload, in published.unit; absent: the case has no such figure
  std::optional<double> predicted_at_observed_payload;
  std::optional<double> fitted_share_pct{};  // of a partly fitted iteration: how much of the predicted time is fitted

  std::optional<double> error_pct() const;  // 100 (predicted - value) / value
  std::optional<double> error_at_observed_payload_pct() const;
};

struct PlacementSummary {
  std::string table;
  Strategy strategy = Strategy::row_wise;
  std::uint64_t rows = 0;
  double access_share = 0;
  std::vector<int> ranks;
  bool operator==(const PlacementSummary&) const = default;
};

// The paper's Figures 3 and 5 for one table, as data for the report.
struct ParetoFigure {
  std::string table;
  std::uint64_t rows = 0;
  std::vector<ParetoPoint> curve;
  ParetoPoint a, b, c, d;
};

// Further figures of a case that is one of several jobs on a fabric.
struct JobFigures {
  std::string fabric;  // the case that lists the jobs
  std::vector<int> nodes;
  double start_ms = 0;
  double alone_ms = 0;  // an iteration with the fabric for itself
  int measured = 0;     // iterations beside the others, whose mean is CaseResult::iteration_ms
  double shortest_ms = 0, longest_ms = 0;

  // Returns by how much an iteration is longer beside the others.
  double slowdown_pct(double iteration_ms) const { return 100 * (iteration_ms / alone_ms - 1); }
};

// The figures of a case's hosts, where it states software: of the rank that waits for its host longest.
struct HostFigures {
  std::string software;
  int rank = 0;
  double busy_ms = 0, waits_for_host_ms = 0;
  std::string with_graph{};  // Software::with_graph
};

// An operator of PyTorch's dense part in one iteration, on rank 0: its kernels, each alone on its GPU, and the host.
struct DenseOperatorTime {
  std::string op;
  double calls = 0, kernels = 0, gpu_ms = 0, host_ms = 0;
};

// The GPU time of an iteration by class of operators, as a profiler's trace of it is summed up.
struct OperatorClassTime {
  std::string name;
  double gpu_ms = 0;
};

// The times that published numbers of another payload are compared with.
struct AtPayload {
  double iteration_ms = 0;
  std::vector<NamedTime> times;  // of its operations, without `waited_for`; of a large world, `alone_ms` may be all
};

// Everything that a run says about one case. Its members are listed in study/result/result_fields.h.
struct CaseResult {
  std::string name;
  std::string workload;
  std::string cluster;
  std::string planner;
  std::string beyond_torchrec;  // what of the plan TorchRec does not have (plan/torchrec_types.h); "": it has all
  std::string relative_to;      // the case that this one's speed is measured against; "": the scenario names none
  int world_size = 0;
  std::int64_t batch_per_gpu = 0;
  double iteration_ms = 0;
  std::optional<double> last_change;  // as SimulationResult has it
  // Where replicas are averaged in one of several iterations: one without and one with that. The mean is told.
  std::optional<double> iteration_ms_without_averages, iteration_ms_with_averages;
  double fill_ms = 0;  // what a pipeline does for its first batch before the first iteration
  double samples_per_s = 0;
  double estimate_iteration_ms = 0;  // closed form: no contention
  std::optional<double> iteration_ms_at_observed_payload;
  std::optional<double>
      iteration_ms_without_duplicates;  // its plan with index_dedup (study/notes/without_duplicates.h)
  std::optional<double>
      iteration_ms_with_modules_apart;  // its plan, as TorchRec's modules (study/notes/modules_apart.h)
  std::vector<std::int64_t> memory_per_rank;
  std::int64_t memory_capacity = 0;  // of a GPU, less what is reserved
  std::int64_t memory_reserved = 0;
  MemoryProfile memory_profile;      // simulated; no ranks: not known
  bool buffers_counted = true;       // by the memory model
  PlacementMemory estimated_memory;  // by the memory model, on the rank of the highest simulated mark
  Utilisation limit;
  std::optional<RankLoads> loads;     // where ranks look up more rows than others because their rows are asked for more
  std::vector<NamedTime> times;       // all operation names, compute too
  std::vector<RankTimes> rank_times;  // none in a result that was read from a file
  std::vector<PathTime> path;         // what the iteration is made of, for its interval; none in one from a file
  std::optional<Why> why;             // absent in a result that was read from a file
  std::optional<PlanMatrix> matrix;   // likewise
  std::optional<TracedParts> traced;  // none: a large world of which nobody asked for a merged trace; from a file
  std::vector<PlacementSummary> placements;
  std::vector<Comparison> published;
  std::vector<ParetoFigure> pareto;
  std::vector<std::string> notes;
  // "2.2 % faster than base", of cases on better hardware (study/notes/slower_hardware.h); "": of none. Known to who
  // has all cases, and told in words by a note.
  std::string beats_better_hardware;
  std::string why_better_hardware_loses;  // a sentence; "": the note alone tells
  std::optional<JobFigures> job;
  // [draw] of where its hot rows may lie, as the function of this name has it; empty where nothing depends on it, and
  // for jobs.
  std::vector<double> placement_log_times;
  std::optional<int> row_draw;        // of these, the one that is told
  std::optional<DrawnFigures> drawn;  // only where batches are drawn; `iteration_ms` is their mean
  std::optional<HostFigures> host;    // only where software is stated
  std::optional<std::vector<DenseOperatorTime>> dense_operators;   // only where the software is PyTorch
  std::optional<std::vector<OperatorClassTime>> operator_classes;  // likewise
  std::optional<EstimatedCase> torchrec;                           // only where the scenario asks for a cross-check
  std::optional<Interval> interval;                                // of iteration_ms; none for jobs side by side
  Timeline timeline;                                               // planned payload
  std::optional<AtPayload> at_observed_payload;

  double samples() const {
    return static_cast<double>(world_size) * static_cast<double>(batch_per_gpu);
  }  // of an iteration
};

// The name of the operation whose start makes a peak; "" when nothing comes on top of what stays.
std::string operation_at(const CaseResult& result, const MemoryPeak& peak);

struct StudyResult {
  std::string scenario;  // path as given
  std::string scenario_text;
  std::string title;
  std::uint64_t seed = 1;
  std::string version;
  std::vector<SourcedValue> fitted;  // every fitted constant of the clusters and workloads used
  std::vector<CaseResult> cases;
  std::vector<Choice> choices;         // between plans
  std::vector<MachineOrder> machines;  // between clusters
  std::vector<CrossCheck> cross_checks;
  std::vector<PlannerComparison> comparisons;  // of planners, where cases list them
  // CPU seconds that each of their planners took, by its case. A clock measured them: no other figure of a result may
  // differ from run to run.
  std::map<std::string, double> planning_cpu_s;

  const CaseResult& case_named(std::string_view name) const {
    return *std::ranges::find(cases, name, &CaseResult::name);
  }
};

}  // namespace shardsim
