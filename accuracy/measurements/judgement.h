#pragma once

#include <optional>
#include <string>
#include <vector>

#include "accuracy/measurements/judged_row.h"
#include "base/document/document.h"

namespace shardsim {

// One system's rows of one collective that are all in the model, or all out of it.
struct SystemFigures {
  std::string system, cluster;
  CollectiveKind kind = CollectiveKind::all_reduce;
  FitsUsed fits = FitsUsed::none;
  std::string out_of_model;  // why, or "" when in the model
  BandFigures figures;
};

// The result of `collective compare` for a set of measurements.
struct Judgement {
  std::string measurements, map;                                // paths as given
  std::vector<JudgedRow> rows;                                  // in the order of the measurements
  int incomplete = 0;                                           // statements without size or time, left out
  int of_one_gpu = 0;                                           // rows of a single GPU, left out
  std::vector<std::string> notes;                               // as JudgedRows has them
  std::vector<SystemFigures> systems;                           // in the model first, then in order of appearance
  std::vector<std::pair<CollectiveKind, BandFigures>> by_kind;  // rows in the model, systems weighted equally
  BandFigures overall;                                          // the same over all collectives
  BandFigures with_out_of_model;                                // and with the rows that are not in the model
  std::optional<BandFigures> unfitted;  // as `overall`, with no fitted constant; absent: none was used
  int out_of_model_rows = 0;

  // The figure that --tolerance bounds: the median from 1 MiB up over the rows in the model; of all sizes when there is
  // none from 1 MiB up; nothing without rows in the model.
  std::optional<double> judged_pct() const;
};

// Errors (Failure::input): no row with a size and a time, and as judge().
Judgement judgement_of(const std::vector<MeasuredRow>& rows, const SystemMap& map, const LeftOutFits& fits,
                       const std::string& measurements);

// The errors of predictions by clusters that were calibrated on a few other rows of the same systems.
struct CalibratedJudgement {
  struct Pair {  // a system and one of its collectives
    std::string system;
    CollectiveKind kind = CollectiveKind::all_reduce;
    int used = 0, unused = 0;
  };

  Judgement judgement;  // of the rows that no fit used; rows out of the model are left out
  std::vector<Pair> pairs;
};

// Calibrates each system of the map on its own rows in the model, at most 4 of each collective,
// from the fit that did not see the system, and judges the rest. Errors (Failure::input): no row is left to judge; as
// judge().
CalibratedJudgement calibrated_judgement(const std::vector<MeasuredRow>& rows, const SystemMap& map,
                                         const LeftOutFits& fits, const std::string& measurements);

// Returns in sentences which rows were used and who has none left.
std::string calibration_summary(const CalibratedJudgement& calibrated);

// The result of `collective compare` as JSON (docs/formats/comparisons.md, shardsim.collective_comparison/1). A figure
// of a size band without rows is null.
std::string judgement_json(const Judgement& judgement);

// Every row with its prediction as CSV: system, case, collective, nodes, gpus_per_node, groups_at_once, size_bytes,
// calls, measured_us, predicted_us, error_pct, algorithm, protocol, bottleneck, out_of_model.
std::string predictions_csv(const Judgement& judgement);

// The document of `collective compare`: the figures per system, collective and size band, the figures over all systems,
// a sentence that sums them up. A page also has a chart of predicted against measured times for each system
// (plots/predicted_vs_measured.vg.json).
Document judgement_document(const Judgement& judgement, Medium medium);

// In a sentence: how many rows and systems, the median error from 1 MiB up, what was left out.
std::string judgement_summary(const Judgement& judgement);

// The tables of docs/accuracy.md about collectives: over all systems, each system against the bound of its collective,
// the rows out of the model, the fitted constants.
std::string judgement_markdown(const Judgement& judgement);

// The table of docs/accuracy.md about calibrated systems: per system and collective the rows used and the errors on the
// others, against the bounds of calibrated predictions.
std::string calibrated_markdown(const CalibratedJudgement& calibrated);

}  // namespace shardsim
