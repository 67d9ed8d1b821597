#pragma once

#include <memory>

#include "models/collective/collective.h"

namespace shardsim {

// Every pair exchanges directly, all pairs at once (all_to_all, send_recv).
std::unique_ptr<CollectiveAlgorithm> make_direct();
// What NCCL's own cost model chooses, with its latency and bandwidth (all_reduce, reduce_scatter, all_gather,
// broadcast); GPUs only.
std::unique_ptr<CollectiveAlgorithm> make_nccl();
// Rings through all ranks, in channels (all_reduce, reduce_scatter, all_gather, broadcast).
std::unique_ptr<CollectiveAlgorithm> make_ring();
// Double binary tree over the nodes, chains inside them (all_reduce).
std::unique_ptr<CollectiveAlgorithm> make_tree();
// Rings inside the nodes and, at the same time, rings across them (all_reduce).
std::unique_ptr<CollectiveAlgorithm> make_two_level();

}  // namespace shardsim
