#pragma once

#include <cstdint>
#include <map>

#include "sim/lower/draws/drawn_batch.h"
#include "sim/lower/lower.h"

namespace shardsim {

// The Programs of drawn batches: operations, names, order and groups are those of the Program of expected batches,
// sizes are those of the iteration (docs/lowering.md, "Batches that vary"). Only where expected ids of a placement
// round to 0 has a drawn Program operations more, since some batch may have such ids. Shards say what they say of
// expected batches.
class DrawnPrograms {
 public:
  // `options.load` has the seed; whether it says `batches: drawn` does not matter. Plan, workload and cluster must
  // outlive it. Errors (Failure::input): as of lower(); more than 1,024 ranks; lengths that nothing can be drawn from.
  DrawnPrograms(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options);

  const Program& expected() const { return expected_; }

  // Returns the Program that iteration `iteration` (0 or more) executes. In a pipeline an operation that works for a
  // batch `batches_ahead` has the sizes of that one. Cheapest when asked in rising order: batches that later ones need,
  // too, are kept.
  Program at(std::int64_t iteration) const;

 private:
  const Program& of_batch(std::int64_t batch) const;

  const Plan& plan_;
  const Workload& workload_;
  const Cluster& cluster_;
  LoweringOptions options_;
  Program expected_;
  BatchMaker maker_;
  int ahead_ = 0;                                     // the most batches that an operation works ahead
  mutable std::map<std::int64_t, Program> by_batch_;  // lowered, from the batch that was last asked for on
};

}  // namespace shardsim
