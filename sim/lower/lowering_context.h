#pragma once

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
  bool exchanges() const;                                       // any group
  std::string precision() const;                                // of the dense part, as in Op
  double tier_bytes() const;  // of tier_merge, tier_split_gradient: ids alone, of all tables
  std::string wire(const FusionGroup& group,
                   const std::optional<WireDtype>& stated) const;  // of its first table
};

// Where a group's output is exchanged, in names ("intra_node_", "global_") and as the group that reduces.
bool within_nodes(const FusionGroup& group);
std::string reach_name(const FusionGroup& group);
std::string reducing_group(const FusionGroup& group);
// The pass that puts a group's vectors in the order of the batch.
std::string order_pass(const FusionGroup& group);

// Lookups with their output exchanges, then the dense part. Returns what the backward pass follows.
std::vector<int> lower_forward(LoweringContext& context);

// Dense part, exchanges of gradients, updates and all-reduces; behind `forward`.
void lower_backward(LoweringContext& context, const std::vector<int>& forward);

}  // namespace shardsim
