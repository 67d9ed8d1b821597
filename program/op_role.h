#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/collective_kind.h"

namespace shardsim {

// The kind of work that an operation is: compute on a rank, or a collective. broadcast: from the first member of the
// group; send_recv: each member to the next, as nccl-tests does. host: what the rank's host does before the GPU can go
// on.
enum class OpClass {
  lookup,
  update,
  dense,
  all_to_all,
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  send_recv,
  host
};

std::string_view op_class_name(OpClass op_class);
std::vector<std::string> op_class_names();  // in the order of the enumerators
std::optional<CollectiveKind> collective_kind(OpClass op_class);

// The step of a training iteration that an operation is, and so what it does to the data of a batch (docs/lowering.md,
// "Roles"). In the order in which a batch meets them. Program files write the enumerators' names.
enum class OpRole {
  none,  // no step of an iteration: collectives of a campaign or a micro-benchmark

  // The way of a batch's ids to the ranks that look them up.
  copy_inputs,       // from the host
  transform_inputs,  // of a stage of the pipeline that is the user's own
  deduplicate_ids,   // of the own batch: each is sent once
  split_tiers,       // ids by the tier of their row
  permute_inputs,    // into the order in which they are sent
  bucketize,         // ids of tables that are cut by rows, by owner
  exchange_splits,   // how much each rank will send
  wait_for_splits,   // of the host
  exchange_lengths,  // of bags and sequences
  exchange_ids,
  exchange_weights,
  recat,          // what was received, by table
  fetch_rows,     // that a cache misses, by the host from a key-value store into its memory
  prefetch_rows,  // that a cache misses, from host memory
  write_rows,     // which made room for those, by the host into the store
  keep_ids,       // of the batch that is trained, while those of the next one arrive
  index_rows,     // ids sorted and told apart for the update of their rows, ahead of it

  // Vectors, from the rows to the dense part.
  lookup,
  order_lookups,       // vectors of sequences, in the order in which they are sent
  encode_output,       // into the type on the wire
  sum_output,          // reduce_scatter of partial sums
  exchange_output,     // of vectors, or of sums that are complete
  decode_output,       // out of the type on the wire
  order_output,        // received vectors in the order of the batch
  merge_tiers,         // of one table
  restore_duplicates,  // a vector for every id of the batch, of those that came once

  // Rows, which the dense part needs no longer than the lookup takes.
  stash_rows,    // to host memory, behind the lookup
  restore_rows,  // from there, ahead of the update
  scatter_rows,  // to the ranks that hold the same ones, as their mean, behind the lookup: each keeps its share
  gather_rows,   // from there, ahead of the update

  // The dense part. Its bottom is the part that takes no embeddings.
  bottom_forward,
  dense_forward,
  dense_backward,
  bottom_backward,
  dense_accumulate,  // their gradients, to those of earlier batches
  dense_all_reduce,
  dense_update,

  // Gradients of vectors, from the dense part to the rows.
  sum_duplicates,  // of an id that was sent once
  split_gradient_tiers,
  order_gradient,           // of the own batch, in the order in which it is sent
  encode_gradient,          // into the type on the wire
  exchange_gradient,        //
  gather_gradient,          // all_gather, where partial sums were added up
  decode_gradient,          // out of the type on the wire
  divide_gradient,          // by the number of ranks, in place
  order_received_gradient,  // in the order of the ids
  weight_gradient,          // of the weights that ids have, from rows and gradients of vectors
  sum_gradient,             // by row: of replicated rows, and of the kernel dense
  accumulate_gradient,  // of all rows in one tensor: zeros that it begins with, or its sum with that of earlier batches
  reduce_gradient,      // of replicated rows
  update,               // fused with the sum
  apply,                // a summed gradient to its rows
  average_replicas,     // rows, or their optimizer states, over the groups of ranks that each hold all of them

  launch  // the host launches what follows (sim/lower/host/host_launches.h)
};

std::string_view op_role_name(OpRole role);
std::vector<std::string> op_role_names();  // in the order of the enumerators

// The purpose of operations in this role, in the words of somebody who does not know their names; "": it is said of
// their class.
std::string_view op_role_purpose(OpRole role);

// The class of an operation in this role; none: any.
std::optional<OpClass> class_of(OpRole role);

// Returns whether an operation in this role works for one fusion group. An exchange of splits may work for one or for
// all.
enum class Belonging { none, may, must };
Belonging belongs_to_fusion(OpRole role);

// The dense part with its own all-reduces and its optimizer.
bool is_dense_part(OpRole role);

// True when an operation in this role keeps the GPU from other compute. Work of the host, and copies from it, do not.
bool occupies_gpu(OpRole role);

// True where threads of the host move rows from or to a key-value store.
bool moves_stored_rows(OpRole role);

// The exchange of ids, with its splits, lengths and weights.
bool exchanges_inputs(OpRole role);

}  // namespace shardsim
