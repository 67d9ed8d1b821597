#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "validate/measurements/judged_row.h"

namespace shardsim {

// One error and what it counts among the others.
struct WeighedError {
  double error_pct = 0;  // signed
  double weight = 1;
};

// How far a set of predictions is off. Nothing when the set is empty.
struct ErrorFigures {
  int rows = 0;
  std::optional<double> median_abs_pct, mean_abs_pct, p95_abs_pct;
  std::optional<double> signed_pct;  // mean with sign: above 0, we predict too long

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
inline constexpr std::array<SizeBand, 4> kSizeBands = {
    SizeBand{"below 64 KiB", 0, 64 * kKiB}, SizeBand{"64 KiB to 1 MiB", 64 * kKiB, kMiB},
    SizeBand{"1 MiB to 64 MiB", kMiB, 64 * kMiB}, SizeBand{"from 64 MiB", 64 * kMiB, kLargestSize}};
inline constexpr SizeBand kBelow1MiB = {"below 1 MiB", 0, kMiB};
inline constexpr SizeBand kFrom1MiB = {"from 1 MiB", kMiB, kLargestSize};
inline constexpr SizeBand kAllSizes = {"all sizes", 0, kLargestSize};

// The figures of some rows, split by size.
struct BandFigures {
  int rows = 0;
  int systems = 0;
  std::array<ErrorFigures, kSizeBands.size()> bands;  // as kSizeBands
  ErrorFigures from_1mib, all;
};

// Every system weighs the same in every band, however many rows it has there.
BandFigures band_figures(const std::vector<const JudgedRow*>& rows);

}  // namespace shardsim
