#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "models/workload/workload.h"
#include "sim/lower/fusion_group.h"
#include "sim/lower/input_exchange.h"
#include "sim/lower/op_list.h"

namespace shardsim {

// Operations of one fusion group; -1 or empty: none.
struct GroupOps {
  std::vector<int> lookups;     // [part]
  int output = -1;              // the last operation of the output
  int gradient_exchange = -1;   // the last one of the exchange of gradients
  std::vector<int> gradients;   // [part] fused updates, or summed gradients
  std::vector<int> reductions;  // all-reduces of replicated rows
  std::vector<int> applies;     // [part], -1 where the update is fused
  int update(std::size_t part) const { return applies[part] >= 0 ? applies[part] : gradients[part]; }
};

// What the steps of a lowering work on.
struct LoweringContext {
  const Workload& workload;
  Program& program;
  const std::vector<FusionGroup>& groups;
  OpList& list;
  InputExchange& input;
  std::vector<GroupOps> ops;  // [group]

  bool full() const { return workload.full_input_exchange(); }  // the exchange of ids in all its steps
  bool shuffles() const { return !workload.dense.measured; }    // passes over vectors; a measured rest holds them
  bool exchanges() const {
    return std::any_of(groups.begin(), groups.end(), [](const FusionGroup& group) { return group.exchanges(); });
  }
  // Of the dense part, as in Op.
  std::string precision() const { return workload.dense.precision == "fp32" ? "" : workload.dense.precision; }
  // Of tier_merge and tier_split_gradient; with ids alone they put the vectors of all tables in order.
  double tier_bytes() const {
    double bytes = 0;
    for (const FusionGroup& group : groups) bytes += 2 * (full() ? group.own_tier_bytes : group.own_bytes);
    return bytes;
  }
  // The label of an exchange: the type of its first table's vectors.
  std::string wire(const FusionGroup& group, const std::optional<WireDtype>& stated) const {
    return dtype_name(wire_dtype(stated, workload.tables[program.shards[group.shards[0]].table]));
  }
};

// Lookups with their output exchanges, then the dense part. Returns what the backward pass follows.
std::vector<int> lower_forward(LoweringContext& context);

// Dense part, exchanges of gradients, updates and all-reduces; behind `forward`.
void lower_backward(LoweringContext& context, const std::vector<int>& forward);

}  // namespace shardsim
