#pragma once

#include "program/timeline/timeline.h"

namespace shardsim {

// Two ranks in a steady state of 100 us, the ids of the next batch exchanged while this one computes. The iteration's
// window is 100..200; its exchange of ids began at 95, beside the `sync` of the iteration before:
//
//   compute                   main 110..190
//   ids      ids 95..120
//   world                            sync 185..200
inline Timeline overlapping_timeline() {
  Timeline timeline;
  timeline.world_size = 2;
  timeline.ranks_per_node = 2;
  timeline.streams = {"compute", "ids", "world"};
  timeline.groups = {{"world", {{0, 1}}}};
  timeline.ops = {{"ids", "all_to_all", 25, "world", "int64", "direct"},
                  {"main", "dense", 80},
                  {"sync", "all_reduce", 15, "world", "fp32", "NVLSTree", "Simple"}};
  for (int rank = 0; rank < 2; ++rank) {
    timeline.spans.push_back({95, 120, rank, 1, 0, 0, 800});
    timeline.spans.push_back({110, 190, rank, 0, 1, 0, 0});
    timeline.spans.push_back({185, 200, rank, 2, 2, 0, 4096});
  }
  for (Span& span : timeline.spans) span.start_us -= 95, span.end_us -= 95;
  sort_spans(timeline);
  timeline.iteration_ms = 0.1;
  timeline.iterations_run = 3;
  return timeline;
}

// Two ranks in a steady state of 100 us without a pipeline, rank 1 slow: it updates for 80 us, rank 0 for 20.
//
//   rank 0   exchange 0..70 (rank 1 arrives at 60)   dense 70..80   update 80..100
//   rank 1   exchange 60..70                         dense 70..80   update 80..160
inline Timeline slow_rank_timeline() {
  Timeline timeline;
  timeline.world_size = 2;
  timeline.ranks_per_node = 2;
  timeline.streams = {"compute", "world", "other"};
  timeline.groups = {{"world", {{0, 1}}}};
  timeline.ops = {
      {"exchange", "all_to_all", 10, "world", "fp32", "direct"}, {"dense", "dense", 10}, {"update", "update"}};
  for (int rank = 0; rank < 2; ++rank) {
    timeline.spans.push_back({60.0 * rank, 70, rank, 1, 0, 0, 1000});
    timeline.spans.push_back({70, 80, rank, 0, 1, 0, 0});
    timeline.spans.push_back({80, 100 + 60.0 * rank, rank, 0, 2, 0, 0});
  }
  sort_spans(timeline);
  timeline.iteration_ms = 0.1;
  timeline.iterations_run = 3;
  return timeline;
}

}  // namespace shardsim
