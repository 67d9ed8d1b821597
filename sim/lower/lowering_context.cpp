#include "sim/lower/lowering_context.h"

#include <algorithm>

namespace shardsim {

bool LoweringContext::exchanges() const {
  return std::any_of(groups.begin(), groups.end(), [](const FusionGroup& group) { return group.exchanges(); });
}

std::string LoweringContext::precision() const {
  return workload.dense.precision == "fp32" ? "" : workload.dense.precision;
}

double LoweringContext::tier_bytes() const {
  double bytes = 0;
  for (const FusionGroup& group : groups) bytes += 2 * (full() ? group.own_tier_bytes : group.own_bytes);
  return bytes;
}

std::string LoweringContext::wire(const FusionGroup& group, const std::optional<WireDtype>& stated) const {
  return dtype_name(wire_dtype(stated, workload.tables[program.shards[group.shards[0]].table]));
}

bool within_nodes(const FusionGroup& group) {
  return group.strategy == Strategy::flex || group.crosses();
}

std::string reach_name(const FusionGroup& group) {
  return within_nodes(group) ? "intra_node_" : "global_";
}

std::string reducing_group(const FusionGroup& group) {
  return within_nodes(group) ? "node" : "world";
}

std::string order_pass(const FusionGroup& group) {
  return !group.pooled() && in_rows(group.strategy) ? "unbucketize" : "concat_permute";
}

}  // namespace shardsim
