#pragma once

#include "models/workload/workload.h"
#include "sim/program/program.h"

namespace shardsim {

// What an operation of a lowered Program does to the data of a batch (docs/lowering.md).
enum class OpRole {
  copy,            // h2d_copy
  tier_split,      // of ids
  permute,         // feature_permute
  bucketize,       // of ids of tables that are cut by rows
  splits,          // their exchange
  wait,            // host_wait
  inputs,          // exchange of lengths, ids or weights
  recat,           // of what was received
  fetch,           // cache_prefetch
  lookup,          //
  exchange,        // of vectors or their gradients, or their reduction
  pass,            // writes vectors or gradients in another order
  split_gradient,  // tier_split_gradient
  order_gradient,  // the pass over gradients of the own batch in front of their exchange
  in_place,        // grad_divide, all-reduces of replicated rows
  dense_forward,   //
  dense_backward,  //
  gradient,        // sums a dense gradient
  update,          // fused with the backward pass
  apply,           // a dense gradient to its rows
  other            // the rest of the dense part
};

OpRole role_of(const Op& op);

// How many batches ahead of the one that is trained in the same iteration this step of a pipeline works.
int batches_ahead(OpRole role, const Workload& workload);

}  // namespace shardsim
