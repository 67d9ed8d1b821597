#include "plan/torchrec/spec/hardware.h"

#include <algorithm>

namespace shardsim::torchrec {

ShardingType coefficient_type(ShardingType type) {
  if (type == ShardingType::table_column_wise) return ShardingType::column_wise;
  return type == ShardingType::grid_shard ? ShardingType::table_row_wise : type;
}

const TypeCoefficients& HardwareConfig::coefficients_of(ShardingType type, ComputeKernel kernel) const {
  if (const auto found = by_kernel.find({type, kernel}); found != by_kernel.end()) return found->second;
  const auto found = by_type.find(coefficient_type(type));
  return found == by_type.end() ? otherwise : found->second;
}

bool HardwareConfig::supports(ShardingType type) const {
  return supported_types.empty() || std::ranges::find(supported_types, type) != supported_types.end();
}

}  // namespace shardsim::torchrec
