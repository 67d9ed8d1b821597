#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/tree/tree.h"
#include "base/units.h"
#include "plan/autoshard/policy.h"
#include "study/scenario/scenario.h"

namespace shardsim {

// A trained policy whose cost model is watched while tables change (AutoShard, KDD 2022, section 5).
struct DriftMonitor {
  Place place;            // of its policy
  ShardingPolicy policy;  // with a cost model
  double threshold = 0;   // mean error of the cost model, as a share, above which the policy is to be trained again
};

// The scenario's key `drift`: a plan is kept and the world under it changes, day by day (docs/drift.md).
struct DriftOptions {
  Place place, growth_place, batch_place;
  int days = 0;                                    // the last day; day 0 is the world of the scenario
  double rotation = 0;                             // share of the accesses that goes to other rows every day
  double exponent = 0;                             // added to the exponent of every Zipf law every day
  double growth = 0;                               // share by which rows grow every day
  double batch = 0;                                // share by which the batch grows every day
  std::string tables = "*";                        // pattern of the tables that drift; the batch is everybody's
  std::vector<Tree> planners;                      // asked every day; empty: that of the case
  std::optional<std::int64_t> iterations_per_day;  // absent: as many as the kept plan makes in 24 hours
  Seconds pause;                                   // of the training, besides the moving of bytes
  std::optional<DriftMonitor> monitor;
};

// Errors (Failure::input, with place): unknown keys, no day, nothing that changes, shares outside their range.
DriftOptions read_drift(const Tree& map);

// Returns the drift of the scenario of this text, which lies at `path`. Errors (Failure::input): those of read_drift();
// there is none.
DriftOptions drift_options(const std::string& text, const std::string& path, const Overrides& overrides);

}  // namespace shardsim
