#include "plan/flexshard_equations.h"

#include <algorithm>
#include <limits>

namespace shardsim {
namespace {

// numerator / denominator as a threshold on p: 0 when every row qualifies, infinite when none does.
double threshold(double numerator, double denominator) {
  if (numerator <= 0) return 0;
  return denominator > 0 ? numerator / denominator : std::numeric_limits<double>::infinity();
}

// Rows with probability `p` or more, for any threshold.
std::uint64_t rows_at_least(const AccessDistribution& rows, double p) {
  return p <= 0 ? rows.rows() : rows.count_at_least(p);
}

// i/steps of `total`, without overflow.
std::uint64_t part_of(std::uint64_t total, std::uint64_t i, std::uint64_t steps) {
  return total / steps * i + total % steps * i / steps;
}

}  // namespace

double CostParameters::p_memory() const {
  return threshold(dp_over_rw(), copies_saved() * batch);
}

double CostParameters::p_crossover() const {
  return threshold(static_multiplier * (1.0 - 1.0 / per_node), copies_saved() * batch);
}

double CostParameters::p_comm() const {
  return bandwidths.all_to_all_global / (passes * batch * bandwidths.all_reduce_global);
}

std::optional<double> CostParameters::p_flex_stop() const {
  if (bandwidths.all_to_all_intra <= bandwidths.all_to_all_global) return std::nullopt;
  const double saved = 1.0 / bandwidths.all_to_all_global - 1.0 / bandwidths.all_to_all_intra;
  return 1.0 / (per_node * bandwidths.all_reduce_cross) / (passes * batch * saved);
}

double dp_memory_delta(const CostParameters& cost, const AccessDistribution& rows, double row_bytes, std::uint64_t n) {
  const auto count = static_cast<double>(n);
  return row_bytes * (count * cost.dp_over_rw() - cost.copies_saved() * cost.batch * rows.prefix(n));
}

double dp_time_delta(const CostParameters& cost, const AccessDistribution& rows, double row_bytes, std::uint64_t n) {
  const double reduced = static_cast<double>(n) / cost.bandwidths.all_reduce_global;
  const double exchanged = cost.passes * cost.batch * rows.prefix(n) / cost.bandwidths.all_to_all_global;
  return row_bytes * (reduced - exchanged);
}

NamedPoints named_points(const CostParameters& cost, const AccessDistribution& rows) {
  NamedPoints points;
  points.a = rows_at_least(rows, cost.p_memory());
  points.c = rows_at_least(rows, cost.p_comm());
  points.d = rows.rows();
  points.b = last_that(points.a, points.d, [&](std::uint64_t n) { return dp_memory_delta(cost, rows, 1, n) <= 0; });
  return points;
}

std::vector<ParetoPoint> pareto_curve(const CostParameters& cost, const AccessDistribution& rows, double row_bytes,
                                      std::uint64_t up_to, int steps) {
  up_to = std::min(up_to, rows.rows());
  const auto parts = static_cast<std::uint64_t>(std::max(steps, 1));
  std::vector<std::uint64_t> counts;
  for (std::uint64_t i = 0; i <= parts; ++i) counts.push_back(part_of(up_to, i, parts));
  const NamedPoints named = named_points(cost, rows);
  for (const std::uint64_t point : {named.a, named.c}) {
    if (point <= up_to) counts.push_back(point);
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());

  std::vector<ParetoPoint> curve;
  for (const std::uint64_t n : counts) {
    curve.push_back({n, dp_memory_delta(cost, rows, row_bytes, n), dp_time_delta(cost, rows, row_bytes, n)});
  }
  return curve;
}

}  // namespace shardsim
