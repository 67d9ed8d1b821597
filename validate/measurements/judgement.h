#pragma once

#include <string>
#include <vector>

#include "validate/measurements/error_figures.h"

namespace shardsim {

// One system's rows of one collective that are all in the model, or all out of it.
struct SystemFigures {
  std::string system, cluster;
  CollectiveKind kind = CollectiveKind::all_reduce;
  FitsUsed fits = FitsUsed::none;
  std::string out_of_model;  // why, or "" when in the model
  BandFigures figures;
};

// What `collective compare` has to say of a set of measurements.
struct Judgement {
  std::string measurements, map;                                // paths as given
  std::vector<JudgedRow> rows;                                  // in the order of the measurements
  int incomplete = 0;                                           // statements without size or time, left out
  int of_one_gpu = 0;                                           // rows of a single GPU, left out
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

}  // namespace shardsim
