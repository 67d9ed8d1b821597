#pragma once

#include <string>
#include <vector>

#include "models/collective/collective_prediction.h"
#include "validate/measurements/left_out_fits.h"
#include "validate/measurements/measured_row.h"
#include "validate/measurements/system_map.h"

namespace shardsim {

// Which constants a prediction uses beside public specifications (cluster key `fits`).
enum class FitsUsed {
  none,
  open_data,   // fitted to the open measurements, none of them of this system
  left_out,    // the same, fitted without the system
  calibrated,  // fitted to other rows of the same system
};

// A measured row beside its prediction.
struct JudgedRow {
  MeasuredRow measured;             // complete; nodes and gpus_per_node known
  std::string cluster;              // name in the map
  CollectivePrediction prediction;  // of one call
  FitsUsed fits = FitsUsed::none;
  std::string out_of_model;  // the reason, or ""

  Seconds predicted() const { return static_cast<double>(measured.calls) * prediction.time; }
  double error_pct() const;  // 100 (predicted - measured) / measured
};

struct JudgedRows {
  std::vector<JudgedRow> rows;  // in the order of the measurements
  int incomplete = 0;           // statements without size or time, left out
  int of_one_gpu = 0;           // left out too: one GPU exchanges nothing, which no model of an exchange is about
};

// Predicts every complete row. A row of N nodes and p GPUs is the first p GPUs of each of N nodes; further groups at
// once are the next p GPUs of the same nodes, then further nodes. One cluster is built per system and number of nodes.
// A cluster whose file says `fits: open_data` gets the fit that did not see the system. Errors (Failure::input at the
// row): a system that the map lacks; more GPUs per node than the cluster has; nodes that neither the row nor the map
// says.
JudgedRows judge(const std::vector<MeasuredRow>& rows, const SystemMap& map, const LeftOutFits& fits);

}  // namespace shardsim
