#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/access/access_distribution.h"

namespace shardsim {

// The largest n in [least, most] for which `fits` holds, by bisection; it must hold at `least` and turn false once at
// most.
template <typename Fits>
std::uint64_t last_that(std::uint64_t least, std::uint64_t most, const Fits& fits) {
  while (least < most) {
    const std::uint64_t middle = most - (most - least) / 2;
    if (fits(middle)) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return least;
}

// The FlexShard paper's cost equations (Sethi et al., section on the sharding cost model; docs/flexshard.md).

// Algorithm bandwidths, bytes per second: payload per GPU of one call (own chunk included) over its time.
// Defaults: derived from the paper's Table 6 and its published ratio of 3 (all-reduce over all-to-all).
struct PlannerBandwidths {
  double all_to_all_global = 25.3e9;
  double all_to_all_intra = 79.3e9;
  double all_reduce_global = 75.9e9;
  double all_reduce_cross = 11.0e9;
  bool operator==(const PlannerBandwidths&) const = default;
};

struct CostParameters {
  double batch = 4096;           // B, per GPU
  int world = 32;                // U
  int per_node = 8;              // W
  double static_multiplier = 6;  // m
  double mp_copies = 2;          // c_mp
  double dp_copies = 1;          // c_dp
  double passes = 2;             // h
  PlannerBandwidths bandwidths;

  // Extra memory of a row as DP, or as Flex, over RW, in row units.
  double dp_over_rw() const { return static_multiplier - 1.0 / world; }               // c_D
  double flex_over_rw() const { return static_multiplier / per_node - 1.0 / world; }  // c_F
  double copies_saved() const { return mp_copies - dp_copies; }                       // k

  // Breakpoints (probabilities): a row with p >= breakpoint qualifies. 0: every row does; infinite: none does.
  double p_memory() const;     // DP and RW need equal memory
  double p_crossover() const;  // DP and Flex need equal memory
  double p_comm() const;       // DP and RW need equal time
  // Flex and RW need equal time; none when the node is no faster than the cluster.
  std::optional<double> p_flex_stop() const;
};

// Extra memory (bytes) and time (seconds) of the first n rows as DP instead of RW.
double dp_memory_delta(const CostParameters& cost, const AccessDistribution& rows, double row_bytes, std::uint64_t n);
double dp_time_delta(const CostParameters& cost, const AccessDistribution& rows, double row_bytes, std::uint64_t n);

// The paper's named points of one table, in rows.
struct NamedPoints {
  std::uint64_t a = 0;  // lowest memory
  std::uint64_t b = 0;  // memory-neutral
  std::uint64_t c = 0;  // lowest time
  std::uint64_t d = 0;  // everything DP
};
NamedPoints named_points(const CostParameters& cost, const AccessDistribution& rows);

struct ParetoPoint {
  std::uint64_t rows = 0;
  double memory_bytes = 0;  // change against all row-wise
  double time_seconds = 0;
};
// The curve of Figure 5: `steps` + 1 even samples from 0 to `up_to` rows, and the points A and C where they lie in that
// range; by rising rows.
std::vector<ParetoPoint> pareto_curve(const CostParameters& cost, const AccessDistribution& rows, double row_bytes,
                                      std::uint64_t up_to, int steps);

}  // namespace shardsim
