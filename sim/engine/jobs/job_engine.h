#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sim/engine/engine.h"
#include "sim/engine/op_work.h"

namespace shardsim {

// One of several Programs on one fabric.
struct JobRun {
  std::string name;  // for messages, with its place
  Place place;
  const Program& program;
  const Cluster& cluster;  // the part of the fabric that it has for itself (a Cluster of its nodes)
  const ComputeModel& compute;
  EngineOptions options;  // `iterations` as that of the first job
  Seconds start;
  // Changes what its operations take, after they are expanded; may be empty.
  std::function<void(const Program& program, const Cluster& cluster, std::vector<OpWork>& works)> edit{};
};

// The simulation of one job beside the others. iteration_ms of its Timeline is the mean over the measured iterations
// (JobWindow); its spans are those of the iteration nearest to that mean among the last ones.
struct JobSimulation {
  SimulationResult simulation;  // busiest: of the links it uses, all jobs' bytes on them counted
  int measured = 0;             // iterations
  double shortest_ms = 0, longest_ms = 0;
};

// Executes all Programs at once on the links of `fabric`: each repeats its iterations until every one is measured.
// Errors: Failure::input naming a job that keeps the others waiting for more than 10,000 of their iterations;
// Failure::run when a Program cannot proceed.
std::vector<JobSimulation> simulate_jobs(const std::vector<JobRun>& jobs, const Cluster& fabric, Network& network);

// The most iterations that one job runs while another settles and is measured.
constexpr int kMostJobIterations = 10'000;

// Over which of their iterations jobs that run side by side are measured. From the latest start on, every job lets
// `iterations` pass to settle; when the last one has, each is measured from its next end of an iteration on, while all
// of them run, until every job has ended `iterations` more. Waiting until two iterations are alike would not work,
// because a job with short iterations overlaps the others only in some of them.
class JobWindow {
 public:
  JobWindow(std::vector<double> starts, int iterations);  // starts: [job] seconds

  void ended(int job, double when);  // an iteration, in the order of time
  bool closed() const { return open_ && unfinished_ == 0; }

  // Ends of iterations so far: the first one that was measured from, and the last.
  struct Measured {
    int origin = 0, last = 0;
    int count() const { return last - origin; }
    double mean(const std::vector<double>& ends) const { return (ends[last] - ends[origin]) / count(); }
  };
  Measured measured(int job) const { return {jobs_[job].origin, jobs_[job].ended - 1}; }

 private:
  struct Job {
    double last_end = 0;  // or its start
    int ended = 0;
    int settled = 0;  // iterations that began when all jobs had started
    int origin = -1;
  };
  void open(double when);

  int iterations_;
  double latest_start_;
  std::vector<Job> jobs_;
  int unsettled_, unfinished_;
  bool open_ = false;
};

}  // namespace shardsim
