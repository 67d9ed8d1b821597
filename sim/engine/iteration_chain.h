#pragma once

#include <cstddef>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/execution.h"

namespace shardsim {

// Iterations one after the other in one chain, each with sizes of its own (drawn batches): a delay that one of them
// leaves, such as a late rank or a busy stream, carries over to the next. Every node is simulated, because no two nodes
// have the same sizes.
class IterationChain {
 public:
  // `program`: its operations, whose sizes do not count. `works`: [iteration] what they take in it, expanded from the
  // Program of that iteration (sim/lower/draws/drawn_batch.h); one or more. All must outlive the chain. Errors: as
  // of simulate().
  IterationChain(const Program& program, const Cluster& cluster, const std::vector<std::vector<OpWork>>& works,
                 Network& network);

  // From the end of the iteration before it on the last rank to its own end there.
  Seconds seconds(std::size_t iteration) const { return {execution_.recent()[iteration].seconds}; }

  // One of them as a simulation says it. `own`: its Program, for what it moves.
  SimulationResult result(std::size_t iteration, const Program& own) const;  // without its path
  CriticalPath path(std::size_t iteration, const Program& own) const;

 private:
  const Cluster& cluster_;
  const std::vector<std::vector<OpWork>>& works_;
  NodeClasses classes_;
  EngineOptions options_;
  Execution execution_;
};

}  // namespace shardsim
