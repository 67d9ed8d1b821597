#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "study/notes/without_duplicates.h"
#include "study/sweep/point_result.h"
#include "study/sweep/sweep.h"
#include "study/sweep/sweep_choices.h"

namespace shardsim {

// Everything that a finished sweep says.
struct SweepResult {
  const Sweep* sweep = nullptr;      // which outlives it
  std::vector<PointResult> results;  // by point
  std::vector<bool> changes_world;   // by dimension: points that differ on it alone have worlds of different sizes
  // Samples per second and GPU of each point over those of the smallest world of the same machine, with the same values
  // on the axes that do not change the world; nothing where that machine has one size alone, or there is no result.
  std::vector<std::optional<double>> scaling_efficiency;
  std::vector<std::size_t> scaling_base;  // by point: of which point's samples that is; its own where there is none
  std::vector<bool> pareto;  // by point: no other one is as good in time, memory and cost and better in one
  PlanChoices plans;         // where the sweep compares plans
  // Of the points that documents tell first, by point, where sequences have duplicates to remove.
  std::map<std::size_t, WithoutDuplicates> without_duplicates = {};

  const PointResult& at(std::size_t point) const { return results[point]; }
  bool ok(std::size_t point) const { return results[point].outcome == PointResult::Outcome::ok; }
  // For a million samples, in the point's currency; nothing without a price or a result.
  std::optional<double> cost_per_million_samples(std::size_t point) const;
  // The currency of all costs: "USD", or "" where none is stated; nothing where they differ, so that costs cannot be
  // compared.
  std::optional<std::string> currency() const;
  std::size_t without_result() const;
};

// Figures that agree to so many digits are equal: what differs further down is rounding.
inline constexpr int kEqualDigits = 9;

// `results` has one for every point.
SweepResult sweep_result(const Sweep& sweep, std::vector<PointResult> results);

// A column of the table of all points: numbers (NaN where there is none), or texts.
struct SweepColumn {
  std::string name;
  std::string unit;  // "ms", "Gbit/s", "1" for counts and shares; "" of texts
  std::string meaning;
  std::variant<std::vector<double>, std::vector<std::string>> values;
};

// One column per axis, named by its path, then the results, in the order of docs/sweeps.md; a row per point. An axis
// of numbers of one kind is a column of numbers, in the unit of its first value; any other one a column of texts.
std::vector<SweepColumn> sweep_columns(const SweepResult& result);

// The table as CSV (RFC 4180), units in square brackets behind the names; and as sweep.h5, a dataset per column.
std::string sweep_csv(const std::vector<SweepColumn>& columns);
void write_sweep_hdf5(const std::string& path, const Sweep& sweep, const std::vector<SweepColumn>& columns);

}  // namespace shardsim
