#include "sim/engine/engine.h"

#include <algorithm>
#include <utility>

#include "sim/engine/alone_times.h"
#include "sim/engine/critical_path.h"
#include "sim/engine/execution.h"
#include "sim/engine/limit.h"
#include "sim/engine/steady_timeline.h"
#include "sim/engine/uncontended.h"

namespace shardsim {
namespace {

// A Program executed until it is steady. Only the outcome of the execution is kept: a large world's transfers and
// streams take about as much memory as the Timeline that is made next.
struct SteadyRun {
  SteadyRun(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works, NodeClasses like,
            Network& network, const EngineOptions& options, Execution::Keep keep = Execution::Keep::recent)
      : classes(std::move(like)) {
    Execution execution(program, cluster, works, classes, options, Execution::Until::steady, keep);
    network.run(cluster.links(), execution.routes(), [&](NetworkSession& session) { execution.run(session); });
    outcome = std::move(execution).outcome();
  }

  const NodeClasses classes;
  Execution::Outcome outcome;
};

// Returns the path that `find` finds on the way back through a run.
CriticalPath path_of(const SteadyRun& run, const Program& program, const Cluster& cluster,
                     const std::vector<OpWork>& works, CriticalPath (*find)(const PastRun&)) {
  const IterationWorks same(works);
  PastRun past{program, same, run.classes, cluster};
  for (const Execution::Kept& before : run.outcome.recent) past.iterations.push_back(&before);
  past.iterations.push_back(&run.outcome.kept);
  past.steady = run.outcome.kept.steady;
  return find(past);
}

SimulationResult simulate_classes(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                                  NodeClasses classes, Network& network, const EngineOptions& options) {
  const SteadyRun run(program, cluster, works, std::move(classes), network, options);
  SimulationResult result = simulation_result(run.outcome.kept, program, works, run.classes, cluster);
  result.path = path_of(run, program, cluster, works, critical_path);
  return result;
}

// The length of the steady iteration, and nothing else.
Seconds time_of_classes(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                        NodeClasses classes, Network& network, const EngineOptions& options) {
  if (network.is_uncontended()) {
    if (const auto time = uncontended_time(program, cluster, works, classes, options)) return *time;
  }
  const SteadyRun run(program, cluster, works, std::move(classes), network, options, Execution::Keep::none);
  return {run.outcome.kept.seconds};
}

}  // namespace

SimulationResult simulate(const Program& program, const Cluster& cluster, const ComputeModel& compute, Network& network,
                          const EngineOptions& options) {
  return simulate_works(program, cluster, expand_ops(program, cluster, compute, options.algorithms), network, options);
}

SimulationResult simulate_works(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                                Network& network, const EngineOptions& options) {
  return simulate_classes(program, cluster, works, classify_nodes(works, cluster), network, options);
}

ComparedSimulation simulate_on_both(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                                    Network& network, Network& other, const EngineOptions& options) {
  NodeClasses classes = classify_nodes(works, cluster);
  const Seconds time = time_of_classes(program, cluster, works, classes, other, options);
  return {simulate_classes(program, cluster, works, std::move(classes), network, options), time};
}

Utilisation busier(const Utilisation& link, const Utilisation& rank) {
  Utilisation busiest = link.share >= rank.share ? link : rank;
  busiest.share = std::min(1.0, busiest.share);
  return busiest;
}

SimulationResult simulation_result(const Execution::Kept& kept, const Program& program,
                                   const std::vector<OpWork>& works, const NodeClasses& classes,
                                   const Cluster& cluster) {
  const Utilisation link = busiest_link(link_seconds(works, cluster), cluster, kept.seconds);
  Timeline timeline = timeline_of(kept, program, works, classes, cluster);
  const Utilisation rank = limiting_rank(program, works, timeline, kept.seconds);
  return {std::move(timeline), busier(link, rank), kept.change, {}};
}

SteadyIteration steady_iteration(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                                 Network& network, const EngineOptions& options) {
  const SteadyRun run(program, cluster, works, classify_nodes(works, cluster), network, options);
  const Execution::Kept& kept = run.outcome.kept;
  Timeline timeline = timeline_without_traffic(kept, program, works, run.classes, cluster);
  const Utilisation link = busiest_link(link_seconds(works, cluster), cluster, kept.seconds);
  const Utilisation rank = limiting_rank(program, works, timeline, kept.seconds);
  return {{kept.seconds},
          busier(link, rank),
          std::move(timeline),
          path_of(run, program, cluster, works, bare_critical_path)};
}

Timeline steady_timeline(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                         Network& network, const EngineOptions& options) {
  const SteadyRun run(program, cluster, works, classify_nodes(works, cluster), network, options, Execution::Keep::last);
  return timeline_without_traffic(run.outcome.kept, program, works, run.classes, cluster);
}

SteadyTimes steady_times(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                         Network& network, const EngineOptions& options) {
  const SteadyRun run(program, cluster, works, classify_nodes(works, cluster), network, options, Execution::Keep::last);
  const Execution::Kept& kept = run.outcome.kept;
  if (auto alone = alone_times(kept, program, works, run.classes, cluster)) return {{kept.seconds}, std::move(*alone)};
  return {{kept.seconds}, named_times_alone(timeline_without_traffic(kept, program, works, run.classes, cluster))};
}

Seconds iteration_time(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                       Network& network, const EngineOptions& options) {
  return time_of_classes(program, cluster, works, classify_nodes(works, cluster), network, options);
}

}  // namespace shardsim
