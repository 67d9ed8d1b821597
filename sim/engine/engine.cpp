#include "sim/engine/engine.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"
#include "program/timeline/rank_times.h"
#include "sim/engine/alone_times.h"
#include "sim/engine/critical_path.h"
#include "sim/engine/execution.h"
#include "sim/engine/op_work.h"
#include "sim/engine/steady_timeline.h"
#include "sim/engine/uncontended.h"

namespace shardsim {
namespace {

// Operations that run in one of several iterations (Op::every), as averages of replicas do, or the optimizer of
// gradients that several batches add up. Works charge every iteration with its part of them (sim/engine/op_work.h),
// which may be hidden where a whole one is not: the mean of the iterations with and without them is longer.

// The lengths of such iterations, in seconds.
struct MeanIteration {
  double mean = 0;
  double without = 0, with = 0;  // none of them, or all
};

// Seconds of an iteration of such works.
using TimeOfWorks = std::function<double(const std::vector<OpWork>& works)>;

constexpr double kSameLength = 1e-11;  // of an iteration
constexpr int kMostTrials = 50;

// As they are where a part of the whole runs of each of those operations that `runs` says, and nothing of the others.
std::vector<OpWork> with_part(const Program& program, std::vector<OpWork> works, double part,
                              const std::function<bool(const Op&)>& runs) {
  for (const Op& op : program.ops) {
    if (op.every == 1) continue;
    const double factor = runs(op) ? part * op.every : 0;  // of what it is charged with
    for (double& seconds : works[static_cast<std::size_t>(op.id)].seconds)
      if (seconds > 0) seconds *= factor;
    for (OpWork::Call& call : works[static_cast<std::size_t>(op.id)].calls) {
      call.loads.start = factor * call.loads.start;
      for (LinkLoad& load : call.loads.loads) load.occupancy *= factor;
      if (factor == 0) call.loads.loads.clear();
    }
  }
  return works;
}

bool any_op(const Op&) {
  return true;
}

bool has_rare_ops(const Program& program) {
  return std::ranges::any_of(program.ops, [](const Op& op) { return op.every > 1; });
}

// Simulates iterations without and with them.
MeanIteration mean_iteration(const Program& program, const std::vector<OpWork>& works, const TimeOfWorks& time_of) {
  MeanIteration found;
  found.without = time_of(with_part(program, works, 0, any_op));
  found.with = time_of(with_part(program, works, 1, any_op));
  std::set<int> numbers;
  for (const Op& op : program.ops)
    if (op.every > 1) numbers.insert(op.every);
  found.mean = found.without;
  for (const int every : numbers) {  // one, unless a Program was written by hand
    const auto runs = [every](const Op& op) { return op.every == every; };
    const double alone = numbers.size() == 1 ? found.with : time_of(with_part(program, works, 1, runs));
    found.mean += (alone - found.without) / every;
  }
  return found;
}

// The works of an iteration that is as long as the mean: each takes so large a part of the whole. Those that were given
// where their parts make it as long.
std::vector<OpWork> works_of_mean(const Program& program, const std::vector<OpWork>& works, const MeanIteration& mean,
                                  const TimeOfWorks& time_of) {
  const double same = kSameLength * mean.mean;
  if (std::abs(time_of(works) - mean.mean) <= same) return works;
  const auto works_of = [&](double part) { return with_part(program, works, part, any_op); };
  double last = 1;  // that was tried
  const auto longer = [&](double part) {
    last = part;
    const double by = time_of(works_of(part)) - mean.mean;
    return std::abs(by) <= same ? 0 : by;
  };
  // From a whole one down, iterations get shorter in a straight line until it hides behind something else.
  constexpr double kStep = 1.0 / 64;
  const double whole = mean.with - mean.mean, slope = (whole - longer(1 - kStep)) / kStep;
  const double guess = slope > 0 ? 1 - whole / slope : 0.5;
  if (guess > 0 && guess < 1 && longer(guess) == 0) return works_of(guess);
  if (whole * (mean.without - mean.mean) > 0) return works;  // of several numbers: no one part makes it as long
  std::uintmax_t trials = kMostTrials;
  boost::math::tools::toms748_solve(longer, 0.0, 1.0, mean.without - mean.mean, whole,
                                    boost::math::tools::eps_tolerance<double>(48), trials);
  return works_of(last);
}

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

// The length of the steady iteration of these works, and nothing else.
Seconds time_as_charged(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                        NodeClasses classes, Network& network, const EngineOptions& options) {
  if (network.is_uncontended()) {
    if (const auto time = uncontended_time(program, cluster, works, classes, options)) return *time;
  }
  const SteadyRun run(program, cluster, works, std::move(classes), network, options, Execution::Keep::none);
  return {run.outcome.kept.seconds};
}

// The works that are simulated: those that are given, or where collectives run in one of several iterations those of
// the mean one. A network that a process can run once is left for what is kept.
class WorksOfMean {
 public:
  WorksOfMean(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works, Network& network,
              const EngineOptions& options)
      : program_(program), works_(works) {
    if (!has_rare_ops(program)) return;
    if (network.is_once()) repeatable_ = make_network(named_map("fair_queues"));
    Network& tried = repeatable_ ? *repeatable_ : network;
    time_of_ = [&program, &cluster, &tried, &options](const std::vector<OpWork>& some) {
      return time_as_charged(program, cluster, some, classify_nodes(some, cluster), tried, options).value;
    };
    mean_ = mean_iteration(program, works, time_of_);
  }

  const std::optional<MeanIteration>& mean() const { return mean_; }
  const std::vector<OpWork>& works() {
    if (!mean_) return works_;
    if (found_.empty()) found_ = works_of_mean(program_, works_, *mean_, time_of_);
    return found_;
  }
  void tell(Execution::Kept& kept) const {
    if (mean_) kept.seconds = mean_->mean;
  }

 private:
  const Program& program_;
  const std::vector<OpWork>& works_;
  std::unique_ptr<Network> repeatable_;
  TimeOfWorks time_of_;
  std::optional<MeanIteration> mean_;
  std::vector<OpWork> found_;
};

// A run of the mean iteration's works, told with the length of the mean.
struct MeanRun {
  MeanRun(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works, NodeClasses like,
          Network& network, const EngineOptions& options, Execution::Keep keep = Execution::Keep::recent)
      : of_mean(program, cluster, works, network, options),
        steady(program, cluster, of_mean.works(), std::move(like), network, options, keep) {
    of_mean.tell(steady.outcome.kept);
  }

  const Execution::Kept& kept() const { return steady.outcome.kept; }

  WorksOfMean of_mean;
  SteadyRun steady;
};

SimulationResult simulate_classes(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                                  NodeClasses classes, Network& network, const EngineOptions& options) {
  MeanRun run(program, cluster, works, std::move(classes), network, options);
  SimulationResult result = simulation_result(run.kept(), program, works, run.steady.classes, cluster);
  result.path = path_of(run.steady, program, cluster, run.of_mean.works(), critical_path);
  if (const auto& mean = run.of_mean.mean()) result.rare = {{mean->without}, {mean->with}};
  return result;
}

// The length of the steady iteration, and nothing else.
Seconds time_of_classes(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                        NodeClasses classes, Network& network, const EngineOptions& options) {
  const WorksOfMean of_mean(program, cluster, works, network, options);
  if (of_mean.mean()) return {of_mean.mean()->mean};
  return time_as_charged(program, cluster, works, std::move(classes), network, options);
}

constexpr double kNoTimeToSpare = 0.9;  // of the iteration: that busy, the host bounds it, whatever waits for what
constexpr double kTellingWait = 0.05;   // of the iteration

// Seconds that each stream of each rank works.
struct BusyStreams {
  BusyStreams(const Program& program, const std::vector<OpWork>& works)
      : ranks(static_cast<std::size_t>(program.world_size)),
        streams(program.streams),
        seconds(ranks * program.streams.size(), 0.0) {
    for (const Op& op : program.ops) {
      const std::vector<double>& each = works[static_cast<std::size_t>(op.id)].seconds;
      const std::size_t stream = static_cast<std::size_t>(op.stream) * ranks;
      for (std::size_t rank = 0; rank < each.size(); ++rank) seconds[stream + rank] += std::max(each[rank], 0.0);
    }
  }

  Utilisation busiest(double iteration_seconds) const {
    const auto most = std::max_element(seconds.begin(), seconds.end());
    const auto at = static_cast<std::size_t>(most - seconds.begin());
    return {"rank " + std::to_string(at % ranks) + " " + streams[at / ranks], *most / iteration_seconds};
  }

  void leave_out(std::size_t stream) {
    const auto first = seconds.begin() + static_cast<std::ptrdiff_t>(stream * ranks);
    std::fill(first, first + static_cast<std::ptrdiff_t>(ranks), 0.0);
  }

  std::size_t ranks;
  std::vector<std::string> streams;
  std::vector<double> seconds;  // [stream][rank]
};

bool some_gpu_waits(const Timeline& timeline) {
  const std::vector<HostShare> hosts = host_times_of(timeline);
  return std::ranges::any_of(
      hosts, [&](const HostShare& host) { return host.waited_for_ms > kTellingWait * timeline.iteration_ms; });
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
  return {std::move(timeline), busier(link, rank), kept.change};
}

SteadyIteration steady_iteration(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                                 Network& network, const EngineOptions& options) {
  MeanRun run(program, cluster, works, classify_nodes(works, cluster), network, options);
  const Execution::Kept& kept = run.kept();
  Timeline timeline = timeline_without_traffic(kept, program, works, run.steady.classes, cluster);
  const Utilisation link = busiest_link(link_seconds(works, cluster), cluster, kept.seconds);
  const Utilisation rank = limiting_rank(program, works, timeline, kept.seconds);
  return {{kept.seconds},
          busier(link, rank),
          std::move(timeline),
          path_of(run.steady, program, cluster, run.of_mean.works(), bare_critical_path)};
}

Timeline steady_timeline(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                         Network& network, const EngineOptions& options) {
  const MeanRun run(program, cluster, works, classify_nodes(works, cluster), network, options, Execution::Keep::last);
  return timeline_without_traffic(run.kept(), program, works, run.steady.classes, cluster);
}

SteadyTimes steady_times(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                         Network& network, const EngineOptions& options) {
  const MeanRun run(program, cluster, works, classify_nodes(works, cluster), network, options, Execution::Keep::last);
  return {{run.kept().seconds}, alone_times(run.kept(), program, works, run.steady.classes, cluster)};
}

Seconds iteration_time(const Program& program, const Cluster& cluster, const std::vector<OpWork>& works,
                       Network& network, const EngineOptions& options) {
  return time_of_classes(program, cluster, works, classify_nodes(works, cluster), network, options);
}

Utilisation limiting_rank(const Program& program, const std::vector<OpWork>& works, const Timeline& timeline,
                          double iteration_seconds) {
  BusyStreams busy(program, works);
  const Utilisation busiest = busy.busiest(iteration_seconds);
  const auto launches = std::ranges::find(program.streams, kLaunchStream);
  if (launches == program.streams.end() || busiest.share >= kNoTimeToSpare) return busiest;
  if (!busiest.what.ends_with(" " + std::string(kLaunchStream)) || some_gpu_waits(timeline)) return busiest;
  busy.leave_out(static_cast<std::size_t>(launches - program.streams.begin()));
  return busy.busiest(iteration_seconds);
}

}  // namespace shardsim
