#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "plan/torchrec/spec/names.h"

namespace shardsim::torchrec {

// Factors of version 2026-08 for the bytes of a lookup or of its backward pass: ids read, rows looked up, vectors
// written, and the rows of the shard, which the default leaves out.
struct PassCoefficients {
  double input_read = 1, lookup = 1, output = 1, rows = 0;
};

// Without `backward` the backward pass is a multiple of the forward pass.
struct TypeCoefficients {
  PassCoefficients forward;
  std::optional<PassCoefficients> backward;
};

// A hardware configuration of the estimator of 2026-08 (planner/estimator/types.py, HardwarePerfConfig), as far as it
// is made of numbers; a subclass in Python may also replace whole formulas. As it stands here it is TorchRec's default.
struct HardwareConfig {
  TypeCoefficients otherwise;  // of sharding types without their own
  std::map<ShardingType, TypeCoefficients> by_type;
  std::map<std::pair<ShardingType, ComputeKernel>, TypeCoefficients> by_kernel;
  // Bytes per ms, instead of what the topology gives: of one kernel, else of all.
  std::map<ComputeKernel, double> kernel_bandwidths;
  std::optional<double> device_bandwidth;
  std::optional<double> bwd_compute_multiplier, weighted_bwd_compute_multiplier;  // none: those of the topology
  double weighted_kernel_multiplier = 1.1;
  // Looked-up rows count 32 columns at least; narrow blocks pay a penalty. None: for types that keep rows whole.
  std::optional<bool> floor_of_columns, block_penalty;
  bool counts_id_bytes = true;  // else ids are counted, not their bytes
  double id_bytes = 8;
  std::vector<ShardingType> supported_types;  // empty: all

  const TypeCoefficients& coefficients_of(ShardingType type, ComputeKernel kernel) const;
  bool supports(ShardingType type) const;
  bool states_bandwidths() const { return device_bandwidth || !kernel_bandwidths.empty(); }
};

// The type whose coefficients a type has where its kernel has none of its own: column_wise for table_column_wise,
// table_row_wise for grid_shard, else itself.
ShardingType coefficient_type(ShardingType type);

}  // namespace shardsim::torchrec
