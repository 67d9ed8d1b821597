#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/measurements/read/measurements.h"
#include "accuracy/measurements/read/system_map.h"
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
const FitsWords& words_of(FitsUsed fits);

// A measured row beside its prediction.
struct JudgedRow {
  MeasuredRow measured;             // complete; nodes and gpus_per_node known
  std::string cluster;              // name in the map
  CollectivePrediction prediction;  // of one call
  FitsUsed fits = FitsUsed::none;
  std::string network;       // that carries it, in the words of FittedOverhead
  std::string out_of_model;  // the reason, or ""

  Seconds predicted() const { return static_cast<double>(measured.calls) * prediction.time; }
  double error_pct() const;  // 100 (predicted - measured) / measured
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

// One error and what it counts among the others.
struct WeighedError {
  double error_pct = 0;  // signed
  double weight = 1;
};

// The errors of a set of predictions. Nothing when the set is empty.
struct ErrorFigures {
  int rows = 0;
  std::optional<double> median_abs_pct, mean_abs_pct, p95_abs_pct;
  std::optional<double> signed_pct;  // mean with sign: above 0, we predict too long
  std::optional<double> worst_abs_pct;

  bool operator==(const ErrorFigures&) const = default;
};

// Quantiles are the smallest error at which the weights below reach the share asked for; where they reach it exactly,
// the mean of that error and the next. With equal weights the median is the usual one.
ErrorFigures error_figures(std::vector<WeighedError> errors);

// Message sizes that behave alike; `upto` is not in the band.
struct SizeBand {
  std::string_view name;
  std::int64_t from = 0, upto = 0;
  bool holds(std::int64_t bytes) const { return bytes >= from && bytes < upto; }
};
inline constexpr std::int64_t kLargestSize = INT64_MAX;
inline constexpr SizeBand kBelow1MiB = {"below 1 MiB", 0, kMiB};
inline constexpr SizeBand kFrom1MiB = {"from 1 MiB", kMiB, kLargestSize};
inline constexpr SizeBand kAllSizes = {"all sizes", 0, kLargestSize};
// The first four share no size.
inline constexpr std::size_t kDisjointBands = 4;
inline constexpr std::array<SizeBand, kDisjointBands + 2> kSizeBands = {
    SizeBand{"below 64 KiB", 0, 64 * kKiB},
    SizeBand{"64 KiB to 1 MiB", 64 * kKiB, kMiB},
    SizeBand{"1 MiB to 64 MiB", kMiB, 64 * kMiB},
    SizeBand{"from 64 MiB", 64 * kMiB, kLargestSize},
    kFrom1MiB,
    kAllSizes};

// The figures of some rows, split by size.
struct BandFigures {
  int rows = 0;
  int systems = 0;
  std::array<ErrorFigures, kSizeBands.size()> bands;  // as kSizeBands
  const ErrorFigures& from_1mib() const { return bands[kDisjointBands]; }
  const ErrorFigures& all() const { return bands.back(); }
};

// One error, what system it is of, and how large its message or operands are.
struct SizedError {
  std::string system;
  std::int64_t bytes = 0;
  double error_pct = 0;  // signed
};

BandFigures band_figures(const std::vector<SizedError>& errors);

// Every system weighs the same in every band, however many rows it has there.
BandFigures band_figures(const std::vector<const JudgedRow*>& rows);

}  // namespace shardsim
