#include "sim/engine/jobs/job_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include "sim/engine/critical_path.h"
#include "sim/engine/engine.h"
#include "sim/engine/execution.h"
#include "sim/engine/node_classes.h"
#include "sim/engine/op_work.h"

namespace shardsim {
namespace {

// The session as one job sees it: its own routes, its own numbers of links.
class JobSession : public NetworkSession {
 public:
  // `owners`: [transfer] the job that started it, kept up to date.
  JobSession(NetworkSession& session, const Cluster& part, int job, int first_route, std::vector<int>& owners)
      : session_(session), part_(part), job_(job), first_route_(first_route), owners_(owners) {}

  Seconds now() const override { return session_.now(); }
  TransferId start(int route, double bytes) override {
    const TransferId id = session_.start(first_route_ + route, bytes);
    owners_.resize(std::max<std::size_t>(owners_.size(), id + 1));
    owners_[id] = job_;
    return id;
  }
  void set_rate_factor(LinkId link, double factor) override { session_.set_rate_factor(part_.in_whole(link), factor); }
  std::vector<TransferId> advance(Seconds until) override { return session_.advance(until); }

 private:
  NetworkSession& session_;
  const Cluster& part_;
  int job_;
  int first_route_;
  std::vector<int>& owners_;
};

std::vector<OpWork> works_of(const JobRun& job) {
  std::vector<OpWork> works = expand_ops(job.program, job.cluster, job.compute, job.options.algorithms);
  if (job.edit) job.edit(job.program, job.cluster, works);
  return works;
}

// A job made ready: its operations expanded on its part of the fabric.
struct Lane {
  Lane(const JobRun& job, const std::vector<std::uint64_t>& marks)
      : run(job),
        works(works_of(job)),
        classes(classify_nodes(works, job.cluster, marks)),
        execution(job.program, job.cluster, works, classes, run.options, Execution::Until::stopped) {}

  const JobRun& run;
  std::vector<OpWork> works;
  NodeClasses classes;
  Execution execution;
  std::unique_ptr<JobSession> session;  // from its start on
  std::size_t counted = 0;              // ends of iterations that the window knows
};

using Lanes = std::vector<std::unique_ptr<Lane>>;

// Nodes under a leaf that another job uses too see other traffic than those under the next leaf.
std::vector<std::uint64_t> marks_of(const JobRun& job, const std::vector<JobRun>& jobs) {
  if (job.cluster.leaf_up(0) < 0) return {};
  std::set<int> used;
  for (const JobRun& other : jobs) {
    for (int node = 0; &other != &job && node < other.cluster.nodes(); ++node) used.insert(other.cluster.leaf_of(node));
  }
  std::vector<std::uint64_t> marks;
  for (int node = 0; node < job.cluster.nodes(); ++node) {
    const int leaf = job.cluster.leaf_of(node);
    marks.push_back(used.contains(leaf) ? leaf + 1 : 0);
  }
  return marks;
}

// Drives all lanes on one session.
class JobLoop {
 public:
  JobLoop(Lanes& lanes, NetworkSession& session, JobWindow& window)
      : lanes_(lanes), session_(session), window_(window) {}

  void run() {
    start_due();
    while (!window_.closed()) {
      for (TransferId transfer : session_.advance({next()})) {
        lanes_[owners_[transfer]]->execution.transfer_ended(transfer);
      }
      for (const auto& lane : lanes_) {
        if (lane->session) lane->execution.fire_due();
      }
      start_due();
      count_iterations();
    }
  }

 private:
  double next() const {
    double next = std::numeric_limits<double>::infinity();
    for (const auto& lane : lanes_) {
      next = std::min(next, lane->session ? lane->execution.next() : lane->run.start.value);
    }
    return next;
  }

  void start_due() {
    int first_route = 0;
    for (std::size_t job = 0; job < lanes_.size(); ++job) {
      Lane& lane = *lanes_[job];
      if (!lane.session && lane.run.start.value <= session_.now().value) {
        lane.session =
            std::make_unique<JobSession>(session_, lane.run.cluster, static_cast<int>(job), first_route, owners_);
        lane.execution.begin(*lane.session);
      }
      first_route += static_cast<int>(lane.execution.routes().size());
    }
  }

  void count_iterations() {
    for (std::size_t job = 0; job < lanes_.size(); ++job) {
      Lane& lane = *lanes_[job];
      const std::vector<double>& ends = lane.execution.ends();
      for (; lane.counted < ends.size(); ++lane.counted) window_.ended(static_cast<int>(job), ends[lane.counted]);
      if (lane.counted > kMostJobIterations + 2 * static_cast<std::size_t>(lane.run.options.iterations)) refuse(lane);
    }
  }

  [[noreturn]] void refuse(const Lane& lane) const {
    throw input_error(lane.run.place,
                      fmt::format("job '{}' has run {} iterations, but the slowest job is not measured yet",
                                  lane.run.name, lane.counted),
                      "Start the jobs closer together, or simulate jobs whose iterations are of more similar length");
  }

  Lanes& lanes_;
  NetworkSession& session_;
  JobWindow& window_;
  std::vector<int> owners_;
};

std::vector<TransferRoute> all_routes(const Lanes& lanes) {
  std::vector<TransferRoute> routes;
  for (const auto& lane : lanes) {
    for (TransferRoute route : lane->execution.routes()) {
      for (LinkId& link : route.links) link = lane->run.cluster.in_whole(link);
      routes.push_back(std::move(route));
    }
  }
  return routes;
}

// The iteration nearest to the mean among those at hand; its position there.
std::size_t typical(const Execution& execution, const JobWindow::Measured& measured, double mean) {
  std::optional<std::size_t> best;
  const auto off = [&](std::size_t i) { return std::abs(execution.recent()[i].seconds - mean); };
  for (std::size_t i = 0; i < execution.recent().size(); ++i) {
    const int iteration = execution.recent()[i].iterations_run - 1;
    if (iteration <= measured.origin || iteration > measured.last) continue;
    if (!best || off(i) < off(*best)) best = i;
  }
  return *best;
}

// Returns the operations that set the length of that iteration, beside the other jobs.
CriticalPath path_of(const Lane& lane, std::size_t iteration) {
  const IterationWorks works(lane.works);
  PastRun past{lane.run.program, works, lane.classes, lane.run.cluster};
  for (std::size_t i = 0; i <= iteration; ++i) past.iterations.push_back(&lane.execution.recent()[i]);
  return critical_path(past);
}

JobSimulation simulation_of(const Lane& lane, const JobWindow::Measured& measured) {
  const std::vector<double>& ends = lane.execution.ends();
  const double mean = measured.mean(ends);
  JobSimulation result;
  result.measured = measured.count();
  double shortest = std::numeric_limits<double>::infinity(), longest = 0;
  for (int end = measured.origin + 1; end <= measured.last; ++end) {
    shortest = std::min(shortest, ends[end] - ends[end - 1]);
    longest = std::max(longest, ends[end] - ends[end - 1]);
  }
  result.shortest_ms = shortest * 1e3;
  result.longest_ms = longest * 1e3;
  const std::size_t nearest = typical(lane.execution, measured, mean);
  Execution::Kept kept = lane.execution.recent()[nearest];
  kept.seconds = mean;
  kept.iterations_run = static_cast<int>(ends.size());
  kept.steady = longest - shortest <= lane.run.options.steady * mean;
  result.simulation.timeline = timeline_of(kept, lane.run.program, lane.works, lane.classes, lane.run.cluster);
  result.simulation.busiest = limiting_rank(lane.run.program, lane.works, result.simulation.timeline, mean);
  result.simulation.path = path_of(lane, nearest);
  return result;
}

// [link of the fabric] share of the time that all jobs together occupy it.
std::vector<double> link_shares(const Lanes& lanes, const std::vector<JobSimulation>& results, const Cluster& fabric) {
  std::vector<double> shares(fabric.links().size(), 0.0);
  for (std::size_t job = 0; job < lanes.size(); ++job) {
    const Cluster& part = lanes[job]->run.cluster;
    const std::vector<double> busy = link_seconds(lanes[job]->works, part);
    const double seconds = results[job].simulation.timeline.iteration_ms * 1e-3;
    for (std::size_t link = 0; link < busy.size(); ++link) {
      shares[part.in_whole(static_cast<LinkId>(link))] += busy[link] / seconds;
    }
  }
  return shares;
}

// Only links that carry bytes of the job can limit it.
void add_busiest_link(JobSimulation& result, const Lane& lane, const std::vector<double>& shares) {
  std::vector<double> busy = link_seconds(lane.works, lane.run.cluster);
  for (std::size_t link = 0; link < busy.size(); ++link) {
    if (busy[link] > 0) busy[link] = shares[lane.run.cluster.in_whole(static_cast<LinkId>(link))];
  }
  const Utilisation busiest = busiest_link(busy, lane.run.cluster, 1);
  result.simulation.busiest = busier(busiest, result.simulation.busiest);
}

}  // namespace

JobWindow::JobWindow(std::vector<double> starts, int iterations)
    : iterations_(iterations),
      latest_start_(*std::max_element(starts.begin(), starts.end())),
      jobs_(starts.size()),
      unsettled_(static_cast<int>(starts.size())),
      unfinished_(unsettled_) {
  for (std::size_t job = 0; job < starts.size(); ++job) jobs_[job].last_end = starts[job];
}

void JobWindow::ended(int index, double when) {
  Job& job = jobs_[index];
  const double began = job.last_end;
  job.last_end = when;
  ++job.ended;
  if (!open_) {
    if (began < latest_start_ || ++job.settled != iterations_) return;
    if (--unsettled_ == 0) open(when);
    return;
  }
  if (job.origin < 0) {
    job.origin = job.ended - 1;
  } else if (job.ended - 1 - job.origin == iterations_) {
    --unfinished_;
  }
}

// An iteration that ends at this very moment is measured from.
void JobWindow::open(double when) {
  open_ = true;
  for (Job& job : jobs_) {
    if (job.ended > 0 && job.last_end == when) job.origin = job.ended - 1;
  }
}

std::vector<JobSimulation> simulate_jobs(const std::vector<JobRun>& jobs, const Cluster& fabric, Network& network) {
  Lanes lanes;
  std::vector<double> starts;
  for (const JobRun& job : jobs) {
    lanes.push_back(std::make_unique<Lane>(job, marks_of(job, jobs)));
    starts.push_back(job.start.value);
  }
  JobWindow window(starts, jobs.front().options.iterations);
  network.run(fabric.links(), all_routes(lanes),
              [&](NetworkSession& session) { JobLoop(lanes, session, window).run(); });

  std::vector<JobSimulation> results;
  for (std::size_t job = 0; job < lanes.size(); ++job) {
    results.push_back(simulation_of(*lanes[job], window.measured(static_cast<int>(job))));
  }
  const std::vector<double> shares = link_shares(lanes, results, fabric);
  for (std::size_t job = 0; job < lanes.size(); ++job) add_busiest_link(results[job], *lanes[job], shares);
  return results;
}

}  // namespace shardsim
