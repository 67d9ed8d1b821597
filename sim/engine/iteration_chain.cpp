#include "sim/engine/iteration_chain.h"

#include "sim/engine/critical_path.h"

namespace shardsim {
namespace {

NodeClasses each_by_itself(const Cluster& cluster) {
  NodeClasses classes;
  for (int node = 0; node < cluster.nodes(); ++node) classes.representative.push_back(node);
  return classes;
}

}  // namespace

IterationChain::IterationChain(const Program& program, const Cluster& cluster,
                               const std::vector<std::vector<OpWork>>& works, Network& network)
    : cluster_(cluster),
      works_(works),
      classes_(each_by_itself(cluster)),
      options_{static_cast<int>(works.size()), 0, 0, {}},
      execution_(program, cluster, IterationWorks(works), classes_, options_, Execution::Until::all) {
  network.run(cluster.links(), execution_.routes(), [&](NetworkSession& session) { execution_.run(session); });
}

SimulationResult IterationChain::result(std::size_t iteration, const Program& own) const {
  return simulation_result(execution_.recent()[iteration], own, works_[iteration], classes_, cluster_);
}

CriticalPath IterationChain::path(std::size_t iteration, const Program& own) const {
  const IterationWorks works(works_);
  PastRun past{own, works, classes_, cluster_};
  for (std::size_t i = 0; i <= iteration; ++i) past.iterations.push_back(&execution_.recent()[i]);
  return critical_path(past);
}

}  // namespace shardsim
