#pragma once

#include <string>
#include <vector>

#include "models/compute/embedding_measurements.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {

// Relative errors of the roofline on some rows, in percent of the measured time.
struct ComputeErrors {
  std::string what;  // "lookup", "update", "gemm"
  int used = 0, checked = 0;
  double median_before = 0, median_after = 0, p90_after = 0;  // absolute, on the rows of the check third
};

struct ComputeCalibration {
  ClusterSpec spec;  // fitted values are in `sources`
  std::string gpu;   // as the measurements name it
  struct Value {
    std::string path, before, after;
  };
  std::vector<Value> values;
  std::vector<ComputeErrors> errors;
  int left_out = 0;  // warm, skewed, or served by caches
};

// Fits the roofline of `gpu` (kernel_overhead, copy_bandwidth as random rows reach it, lookups_per_ns, sort_per_lookup,
// sorted_update_efficiency, flops_efficiency) to the rows of the fit part, those with hash(shape) mod 3 != 0, by least
// squares of the logarithms of predicted over measured, large ones damped. Values that no row speaks of stay. Cold
// caches and uniform indices only; rows whose tables are read more than once over are left out, as in the compute model
// `measured`. Errors (Failure::input at `measurements`): fewer than four rows to fit, rows of several devices.
ComputeCalibration calibrate_compute(const ClusterSpec& prior, const EmbeddingTable& table,
                                     const std::string& measurements);

}  // namespace shardsim
