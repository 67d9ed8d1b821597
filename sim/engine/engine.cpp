#include "sim/engine/engine.h"

#include "sim/engine/execution.h"
#include "sim/engine/kept_timeline.h"
#include "sim/engine/node_classes.h"
#include "sim/engine/op_work.h"
#include "sim/engine/utilisation.h"

namespace shardsim {

SimulationResult simulate(const Program& program, const Cluster& cluster, const ComputeModel& compute, Network& network,
                          const EngineOptions& options) {
  return simulate_works(program, cluster, expand_ops(program, cluster, compute, options.algorithms), network, options);
}

SimulationResult simulate_works(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                                Network& network, const EngineOptions& options) {
  const NodeClasses classes = classify_nodes(works, cluster);
  Execution execution(program, cluster, works, classes, options);
  network.run(cluster.links(), execution.routes(), [&](NetworkSession& session) { execution.run(session); });

  const Execution::Kept& kept = execution.kept();
  const Utilisation link = busiest_link(link_seconds(works, cluster), cluster, kept.seconds);
  const Utilisation rank = busiest_rank(program, works, kept.seconds);
  return {timeline_of(kept, program, works, classes, cluster), link.share >= rank.share ? link : rank};
}

}  // namespace shardsim
