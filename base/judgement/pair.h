#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace shardsim {

// 100 (predicted - observed) / observed: above 0 where the prediction is too large.
double percent_off(double predicted, double observed);
// The same; nothing where nothing was observed, or nothing is predicted.
std::optional<double> percent_off(const std::optional<double>& predicted, double observed);

// One predicted number beside the observed one: a collective, a kernel, an iteration, an operation of a Timeline.
struct Pair {
  // Constants may have been fitted to the observed number; then a small error proves nothing.
  enum class Role { judging, fitted };

  double predicted = 0, observed = 0;  // in one unit, us in charts and CSV
  Role role = Role::judging;
  std::string group = {};         // all groups weigh the same, however many pairs they have
  std::string out_of_model = {};  // why no prediction is claimed, known before predicting; "" in the model
  double size = 0;                // bytes of a message, or operands of a kernel
  // The words of charts: the kind that gives it its colour, what it is, and how it was done.
  std::string kind = {}, what = {}, how = {};

  double error_pct() const { return percent_off(predicted, observed); }
  bool is_in(Role asked) const { return out_of_model.empty() && role == asked; }
};

// The pairs in the model that have this role.
std::vector<Pair> pairs_of(const std::vector<Pair>& pairs, Pair::Role role);

// The errors of a set of predictions, percent. Nothing when the set is empty.
struct ErrorFigures {
  int rows = 0;
  std::optional<double> median_abs_pct, mean_abs_pct, p90_abs_pct, p95_abs_pct, worst_abs_pct;
  std::optional<double> signed_pct;         // mean with sign: above 0, we predict too long
  std::optional<double> signed_median_pct;  // median with sign
  std::optional<double> signed_worst_pct;   // the largest error with its sign

  bool operator==(const ErrorFigures&) const = default;
};

// Every group weighs the same; whether a pair judges is not asked. Quantiles are the smallest error at which the
// weights below reach the share asked for; where they reach it exactly, the mean of that error and the next. With equal
// weights the median is the usual one.
ErrorFigures error_figures(const std::vector<Pair>& pairs);

// Sizes that behave alike; `upto` is not in the band.
struct SizeBand {
  std::string_view name;
  std::int64_t from = 0, upto = 0;
  bool holds(double size) const { return size >= static_cast<double>(from) && size < static_cast<double>(upto); }
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

// The figures of the pairs of one band.
ErrorFigures error_figures(const std::vector<Pair>& pairs, const SizeBand& band);

// The figures of some pairs, split by size. Every group weighs the same in every band, however many pairs it has there.
struct BandFigures {
  int rows = 0;
  int groups = 0;
  std::array<ErrorFigures, kSizeBands.size()> bands;  // as kSizeBands
  const ErrorFigures& from_1mib() const { return bands[kDisjointBands]; }
  const ErrorFigures& all() const { return bands.back(); }
};
BandFigures band_figures(const std::vector<Pair>& pairs);

}  // namespace shardsim
