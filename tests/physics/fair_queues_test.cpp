#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <sstream>
#include <tuple>

#include "sim/engine/jobs/job_engine.h"
#include "sim/engine/op_work.h"
#include "tests/physics/random_plans.h"

namespace shardsim::fair_queues_test {

// The network `fair_queues` beside the reference, SimGrid: each transfer of our collectives loads one link, so both
// must give the same times, whatever runs.

using namespace shardsim::physics;

namespace {

// Relative to an iteration; SimGrid's own times are exact to about that.
constexpr double kAlike = 1e-9;

using SpanKey = std::tuple<int, int, int>;

SpanKey key_of(const Span& span) {
  return {span.rank, span.op, span.iteration};
}

std::vector<Span> by_key(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, key_of);
  return spans;
}

// The largest distance of two ends or starts, relative to the iteration. Where that is shorter than a millisecond, to a
// millisecond: SimGrid takes instants 1e-12 s apart for one.
double distance(const Timeline& one, const Timeline& other) {
  const double scale_us = 1e3 * std::max(other.iteration_ms, 1.0);
  const std::vector<Span> spans = by_key(one.spans), others = by_key(other.spans);
  REQUIRE(spans.size() == others.size());
  double farthest = 1e3 * std::abs(one.iteration_ms - other.iteration_ms) / scale_us;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    REQUIRE(key_of(spans[i]) == key_of(others[i]));
    const double us =
        std::max(std::abs(spans[i].start_us - others[i].start_us), std::abs(spans[i].end_us - others[i].end_us));
    farthest = std::max(farthest, us / scale_us);
  }
  return farthest;
}

void check_alike(const Program& program, const Cluster& cluster, const ComputeModel& compute,
                 const EngineOptions& options) {
  const std::vector<OpWork> works = expand_ops(program, cluster, compute, options.algorithms);
  const auto timeline = [&](const std::string& network) {
    return simulate_works(program, cluster, works, *make_network(named(network)), options).timeline;
  };
  const Timeline reference = timeline_from_bytes(in_process([&] { return to_bytes(timeline("simgrid")); }));
  CHECK(distance(timeline("fair_queues"), reference) <= kAlike);
}

void check_case(const Scenario& scenario, const Case& item) {
  CAPTURE(item.name);
  const Cluster cluster = cluster_of(item);
  const PreparedCase prepared(scenario, item, cluster, shipped_plan(scenario, item, cluster));
  check_alike(prepared.program(), cluster, *make_compute_model(item.compute_model), engine_options(item));
}

void check_fabric(const Scenario& scenario, const Fabric& fabric) {
  std::vector<PreparedCase> jobs;
  for (const std::size_t job : fabric.jobs) {
    const Case& item = scenario.cases[job];
    const Cluster cluster = cluster_of(item);
    jobs.emplace_back(scenario, item, cluster, shipped_plan(scenario, item, cluster));
  }
  const Case& first = jobs.front().item;
  const auto compute = make_compute_model(first.compute_model);
  std::vector<JobRun> runs;
  for (const PreparedCase& job : jobs) {
    runs.push_back({job.item.name, job.item.place, job.program(), job.cluster, *compute, engine_options(job.item),
                    job.item.job->start});
  }
  const auto timelines = [&](const std::string& network) {
    std::string bytes;
    for (const JobSimulation& job : simulate_jobs(runs, Cluster(first.cluster), *make_network(named(network))))
      bytes += std::to_string(std::bit_cast<std::uint64_t>(job.simulation.timeline.iteration_ms)) + " ";
    return bytes;
  };
  std::istringstream ours(timelines("fair_queues")), reference(in_process([&] { return timelines("simgrid"); }));
  for (std::uint64_t one = 0, other = 0; ours >> one && reference >> other;)
    CHECK(off(std::bit_cast<double>(one), std::bit_cast<double>(other)) <= kAlike);
}

}  // namespace

TEST_CASE("every case of every shipped scenario takes the time that it takes on SimGrid" *
          doctest::test_suite("shipped")) {
  const std::vector<std::string> paths = shipped_scenarios();
  REQUIRE(paths.size() >= 13);
  for (const std::string& path : paths) {
    CAPTURE(path);
    const Scenario scenario = read_scenario(path, {});
    for (const Case& item : scenario.cases) check_case(scenario, item);
    for (const Fabric& fabric : scenario.fabrics) check_fabric(scenario, fabric);
  }
}

TEST_CASE("random plans take the time that they take on SimGrid, stragglers and slower links included") {
  const auto compute = make_compute_model(named("roofline"));
  RandomChoice choice;
  choice.strategies = torchrec_strategies();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    choice.pipeline = seed % 2 == 0 ? "sparse_dist" : "none";
    const RandomPlan made = random_plan(seed, choice);
    ClusterSpec spec = made.cluster->spec();
    if (seed % 3 == 0) spec.gpu.overlap_slowdown = 0.2;
    if (seed % 4 == 0) spec.faults = {{1, {}, 0, 0.7, 1}};
    check_alike(lowered_at_random(made), Cluster(spec), *compute, {});
  }
}

}  // namespace shardsim::fair_queues_test
