#pragma once

#include <memory>
#include <string>
#include <vector>

#include "accuracy/measurements/read/measurements.h"
#include "accuracy/measurements/read/system_map.h"
#include "base/judgement/pair.h"
#include "models/collective/collective_prediction.h"

namespace shardsim {

// The constants that a prediction uses beside public specifications (cluster key `fits`).
enum class FitsUsed {
  none,
  open_data,   // fitted to the open measurements, none of them of this system
  left_out,    // the same, fitted without the system
  calibrated,  // fitted to other rows of the same system
};

// Its name in JSON and in a cell, and the phrase after the name of the system.
struct FitsWords {
  const char *key, *cell, *phrase;
};
const FitsWords& fits_words(FitsUsed fits);

// A measured row beside its prediction.
struct JudgedRow {
  MeasuredRow measured;             // complete; nodes and gpus_per_node known
  std::string cluster;              // name in the map
  CollectivePrediction prediction;  // of one call
  FitsUsed fits = FitsUsed::none;
  std::string network;       // that carries it, in the words of FittedOverhead
  std::string out_of_model;  // the reason, or ""

  Seconds predicted() const { return static_cast<double>(measured.calls) * prediction.time; }
  double error_pct() const { return percent_off(predicted().value, measured.time->value); }
  // In us; rows of one system are a group.
  Pair pair() const;
};

struct JudgedRows {
  std::vector<JudgedRow> rows;     // in the order of the measurements
  int incomplete = 0;              // statements without size or time, left out
  int of_one_gpu = 0;              // left out too: one GPU exchanges nothing, which no model of an exchange is about
  std::vector<std::string> notes;  // systems left out, logs of other GPUs, rates above what the links carry
};

// Predicts every complete row. A row of N nodes and p GPUs is the first p GPUs of each of N nodes; further groups at
// once are the next p GPUs of the same nodes, then further nodes. One cluster is built per system and number of nodes.
// A cluster whose file says `fits: open_data` gets the fit that did not see the system. Errors (Failure::input at the
// row): a system that the map lacks; more GPUs per node than the cluster has; nodes that neither the row nor the map
// says; more ranks in all rows than are predicted in one go.
JudgedRows judge(const std::vector<MeasuredRow>& rows, const SystemMap& map, const LeftOutFits& fits);

// Refuses rows of one system, complete, as judge() does that have too many ranks, before anything is predicted.
void check_rank_count(const ClusterSpec& spec, const std::vector<MeasuredRow>& rows);

// Rows of one system, predicted on a cluster; nothing but the file's own numbers is used.
std::vector<JudgedRow> judged_on(const ClusterSpec& spec, const std::vector<MeasuredRow>& rows);

// The times of judged_on() for clusters that differ in their overheads and the rate of a channel alone, as a fit tries
// them hundreds of times: links, routes and what NCCL makes of a call are found once, and equal calls are one.
class RepeatedPrediction {
 public:
  RepeatedPrediction(const ClusterSpec& spec, const std::vector<MeasuredRow>& rows);
  ~RepeatedPrediction();

  // ln(predicted / measured) of each row, in their order; those of a single GPU are left out.
  std::vector<double> misses(const ClusterSpec& spec) const;

 private:
  struct Calls;
  std::unique_ptr<Calls> calls_;
};

}  // namespace shardsim
