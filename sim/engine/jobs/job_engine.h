#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "sim/engine/engine.h"

namespace shardsim {

// One of several Programs on one fabric.
struct JobRun {
  std::string name;  // for messages, with its place
  Place place;
  const Program& program;
  const Cluster& cluster;  // the part of the fabric that it has for itself (Cluster::part)
  const ComputeModel& compute;
  EngineOptions options;  // `iterations` as that of the first job
  Seconds start;
};

// What a job does beside the others. iteration_ms of its Timeline is the mean over the measured iterations
// (sim/engine/jobs/job_window.h); its spans are those of the iteration nearest to that mean among the last ones.
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

}  // namespace shardsim
