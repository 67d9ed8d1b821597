#include <doctest/doctest.h>

#include <map>
#include <sstream>

#include "program/timeline/kineto/kineto.h"
#include "program/timeline/named_times.h"
#include "study/report/charts/chart_data.h"
#include "tests/physics/lab.h"
#include "tests/physics/random_plans.h"

namespace shardsim::steady_window_test {

// In a steady state everything runs once in a period: what a rank computes, what it waits for and what is left make up
// the iteration, also where a pipeline lets iterations overlap.

using namespace shardsim::physics;

namespace {

// Relative to `whole`.
constexpr double kExact = 1e-9;

std::map<std::string, double> bars_of(const StudyResult& study) {
  std::map<std::string, double> sums;
  for (const auto& row : breakdown_parts(study).rows) sums[std::get<std::string>(row[0])] += std::get<double>(row[4]);
  return sums;
}

void check_case(const CaseResult& item, double bar_ms) {
  CAPTURE(item.name);
  CHECK(off(bar_ms, item.iteration_ms) < kExact);
  double exposed_ms = 0, waiting_ms = 0;
  for (const RankTimes& rank : rank_times(item.timeline)) {
    CHECK(rank.compute_ms + rank.exposed_ms <= item.iteration_ms * (1 + kExact));
    CHECK(rank.waiting_ms >= 0);
    CHECK(rank.waiting_ms <= rank.exposed_ms);
    exposed_ms += rank.exposed_ms, waiting_ms += rank.waiting_ms;
  }
  for (const NamedTime& time : item.times) {
    CHECK(time.waiting_ms >= 0);
    CHECK(time.waiting_ms <= time.exposed_ms * (1 + kExact));
    CHECK(time.waited_for.ms <= time.waiting_ms * (1 + kExact));
    CHECK((time.waited_for.rank >= 0) == (time.waiting_ms > 0));
  }
  CHECK(waiting_ms <= exposed_ms);
}

void check_round_trip(const CaseResult& item) {
  CAPTURE(item.name);
  std::vector<KinetoTrace> traces;
  for (int rank = 0; rank < item.world_size; ++rank) {
    std::istringstream text(kineto_trace(item.timeline, rank, item.name, false));
    traces.push_back(read_kineto_trace(text, "rank.json"));
    double last_us = 0;
    for (const KinetoTrace::Kernel& kernel : traces.back().kernels)
      last_us = std::max(last_us, kernel.start_us + kernel.duration_us);
    CHECK(last_us <= item.iteration_ms * 1e3 + 0.001);
  }
  const Timeline read = timeline_from_traces(std::move(traces), "traces").timeline;
  CHECK(read.iteration_ms == item.timeline.iteration_ms);
  CHECK(read.spans.size() == item.timeline.spans.size());
  const auto ours = rank_times(item.timeline), theirs = rank_times(read);
  // A trace has whole nanoseconds, and a short kernel may be off by one.
  const double rounding_ms = 1e-6 * static_cast<double>(item.timeline.ops.size());
  for (std::size_t rank = 0; rank < ours.size(); ++rank) {
    CHECK(std::abs(theirs[rank].compute_ms - ours[rank].compute_ms) < 1e-4 * ours[rank].compute_ms + rounding_ms);
    CHECK(std::abs(theirs[rank].exposed_ms - ours[rank].exposed_ms) < 1e-4 * ours[rank].exposed_ms + rounding_ms);
  }
}

}  // namespace

TEST_CASE("a run that is not steady runs on until it is, and one that is steady stays as it was") {
  int ran_on = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    RandomChoice choice{torchrec_strategies()};
    choice.pipeline = "sparse_dist";
    const RandomPlan made = random_plan(seed, choice);
    const Program program = lower(made.plan, made.workload, *made.cluster, {});
    EngineOptions few;
    few.iterations = 2;
    EngineOptions more = few;
    more.most_iterations = 32;
    const Timeline ended = simulated(program, *made.cluster, "fair_queues", few);
    const Timeline steady = simulated(program, *made.cluster, "fair_queues", more);
    if (ended.steady) {
      CHECK(ended == steady);
      continue;
    }
    ++ran_on;
    CHECK(steady.iterations_run > 2);
    CHECK((steady.steady || steady.iterations_run == 32));
    EngineOptions all;
    all.iterations = 32;
    CHECK(off(steady.iteration_ms, simulated(program, *made.cluster, "fair_queues", all).iteration_ms) < 1e-3);
  }
  CHECK(ran_on > 5);
}

TEST_CASE("the parts of every shipped case add up to its iteration, with and without a pipeline" *
          doctest::test_suite("shipped")) {
  int cases = 0, overlapping = 0;
  Overrides known;
  known.set = {{"load.placement", "0"}};  // parts add up wherever hot rows lie: no need to simulate 32 placements
  for (const char* name : {"toy", "mixed", "torchrec_dlrm", "torchrec_synthetic", "a100_iterations", "two_jobs",
                           "emulated", "flexshard"}) {
    CAPTURE(name);
    const StudyResult study = run_study(read_scenario(shipped_path(std::string(name) + ".yaml"), known), {2, {}, {}});
    const std::map<std::string, double> bars = bars_of(study);
    REQUIRE(bars.size() == study.cases.size());
    for (const CaseResult& item : study.cases) {
      check_case(item, bars.at(item.name));
      ++cases;
      const bool overlaps = iteration_windows(item.timeline).front().repeats;
      overlapping += overlaps;
      if (overlaps && item.timeline.steady && item.world_size <= 16) check_round_trip(item);
    }
  }
  CHECK(cases > 30);
  CHECK(overlapping > 10);
}

TEST_CASE("a slow GPU is what the others wait for, not the network") {
  const auto exchange_of = [](const std::vector<FaultSpec>& faults) {
    ClusterSpec spec = cluster_spec("toy_2x4.yaml");
    spec.faults = faults;
    const Cluster cluster(spec);
    const Timeline timeline =
        simulated(lowered("{name: row_wise}", shipped_workload("toy_history.yaml"), cluster, even_rows()), cluster);
    NamedTime exchange = named_times(timeline).front();
    REQUIRE(exchange.name == "input_all_to_all");
    return exchange;
  };
  const NamedTime even = exchange_of({}), uneven = exchange_of({{0, 3, {}, 1, 0.1}});
  CHECK(even.waiting_ms < 0.01 * even.exposed_ms);
  CHECK(uneven.waiting_ms > 0.5 * uneven.exposed_ms);
  CHECK(off(uneven.transfer_ms(), even.transfer_ms()) < 0.01);
  CHECK(uneven.waited_for.rank == 3);
  CHECK(uneven.waited_for.operation == "update_row_wise");
  CHECK(uneven.waited_for.ms == doctest::Approx(uneven.waiting_ms));
}

}  // namespace shardsim::steady_window_test
