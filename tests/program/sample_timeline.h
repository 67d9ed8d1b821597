#pragma once

#include "program/timeline/timeline.h"

namespace shardsim {

// Two ranks, two kept iterations of 100 us each, a compute stream and two communication streams: small enough to add up
// by hand. Per iteration, on rank 0 (rank 1 is the same but for the end of `sync`):
//
//   compute   lookup 0..10             dense 40..90
//   world              exchange 10..40      sync 60..100 (rank 1: 60..95)
//   node               local    10..25
//
// Rank 0: compute 60, collectives 10..40 and 60..100 = 70, exposed 10..40 and 90..100 = 40.
// Rank 1: compute 60, collectives 65, exposed 35. `exchange` ends last of the two that overlap, so it is charged
// the 30.
inline Timeline sample_timeline() {
  Timeline timeline;
  timeline.world_size = 2;
  timeline.ranks_per_node = 1;
  timeline.streams = {"compute", "world", "node"};
  timeline.groups = {{"world", {{0, 1}}}, {"node", {{0}, {1}}}};
  timeline.ops = {{"lookup", "lookup", 9.5},
                  {"exchange", "all_to_all", 28.0, "world", "fp32", "direct"},
                  {"local", "all_to_all", 15.0, "node", "fp16", "direct"},
                  {"dense", "dense", 50.0},
                  {"sync", "all_reduce", 33.0, "world", "fp32", "ring"}};
  for (int iteration = 0; iteration < 2; ++iteration) {
    for (int rank = 0; rank < 2; ++rank) {
      const double at = 100.0 * iteration;
      timeline.spans.push_back({at, at + 10, rank, 0, 0, iteration, 0});
      timeline.spans.push_back({at + 10, at + 40, rank, 1, 1, iteration, 4096 * (1 + rank)});
      timeline.spans.push_back({at + 10, at + 25, rank, 2, 2, iteration, 1024});
      timeline.spans.push_back({at + 40, at + 90, rank, 0, 3, iteration, 0});
      timeline.spans.push_back({at + 60, at + 100 - 5 * rank, rank, 1, 4, iteration, 2048});
    }
  }
  sort_spans(timeline);
  timeline.hbm_bytes = {300, 200};
  timeline.bytes_out = {6144, 10240};
  timeline.bytes_in = {10240, 6144};
  timeline.flow = {0, 6144, 10240, 0};
  timeline.iteration_ms = 0.1;
  timeline.iterations_run = 4;
  return timeline;
}

// The same as if it had been seen on two nodes.
inline Timeline sample_observation() {
  Timeline timeline = sample_timeline();
  timeline.kind = "observed";
  timeline.measured = {{"node-a", "node-b"}, "A100-SXM4-40GB", "535.104", "12.2", "2.18.3", "nccl", 0.5};
  return timeline;
}

}  // namespace shardsim
