#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "base/rng.h"
#include "sim/engine/op_work.h"
#include "tests/physics/random_plans.h"

namespace shardsim::critical_path_test {
namespace {

using namespace shardsim::physics;

constexpr int kPrograms = 300;
constexpr double kSame = 1e-9;  // of an iteration

// Operations with random times, dependencies and members, on three streams of four ranks.
struct RandomRun {
  Program program;
  std::vector<OpWork> works;
};

void add_dependencies(Rng& rng, Op& op) {
  for (int id = 0; id < op.id; ++id)
    if (rng.below(4) == 0) op.after.push_back(id);
}

double random_seconds(Rng& rng) {
  return 1e-6 * static_cast<double>(1 + rng.below(1'000'000));
}

OpWork random_compute(Rng& rng, const Program& program) {
  OpWork work;
  for (int rank = 0; rank < program.world_size; ++rank) work.seconds.push_back(random_seconds(rng));
  return work;
}

OpWork random_collective(Rng& rng, const Program& program, const Op& op, const Cluster& cluster) {
  OpWork work;
  for (const std::vector<int>& ranks : program.groups.at(op.group)) {
    OpWork::Call call;
    call.ranks = ranks;
    call.payload.assign(ranks.size(), 0);
    call.loads.start = {random_seconds(rng)};
    call.loads.synchronising = rng.below(2) == 0;
    std::set<LinkId> links;
    for (const int rank : ranks) links.insert(cluster.links_of(rank).front());
    for (const LinkId link : links) {
      const double bytes = random_seconds(rng) * cluster.links()[static_cast<std::size_t>(link)].rate.bytes_per_second;
      call.loads.loads.push_back({link, bytes, bytes, {}});
    }
    work.calls.push_back(std::move(call));
  }
  return work;
}

RandomRun random_run(std::uint64_t seed, const Cluster& cluster) {
  Rng rng(seed);
  RandomRun run;
  run.program.world_size = 4;
  run.program.ranks_per_node = 2;
  run.program.batch_per_rank = 1;
  run.program.streams = {"compute", "world", "side"};
  run.program.groups = {{"world", {{0, 1, 2, 3}}}, {"node", {{0, 1}, {2, 3}}}};
  const int count = 4 + static_cast<int>(rng.below(12));
  for (int id = 0; id < count; ++id) {
    Op op;
    op.id = id;
    op.name = fmt::format("op{}", id);
    const bool meets = rng.below(3) == 0;
    op.op_class = meets ? OpClass::all_reduce : OpClass::dense;
    op.stream = meets ? 1 : 2 * static_cast<int>(rng.below(2));
    if (meets) op.group = rng.below(2) == 0 ? "world" : "node";
    add_dependencies(rng, op);
    if (rng.below(3) == 0) op.after_previous.push_back(static_cast<int>(rng.below(static_cast<std::uint64_t>(count))));
    run.works.push_back(meets ? random_collective(rng, run.program, op, cluster) : random_compute(rng, run.program));
    run.program.ops.push_back(std::move(op));
  }
  return run;
}

SimulationResult result_of(const RandomRun& run, const Cluster& cluster, const std::string& network = "closed_form") {
  return simulate_works(run.program, cluster, run.works, *make_network(named(network)), {200, 0, 1e-13, {}});
}

// An iteration far from the start: two early ones that are alike need not be the last word. Operation by operation,
// which takes a fraction of what events do, and gives the same bits (see below).
double seconds_of(const RandomRun& run, const Cluster& cluster) {
  constexpr double kNeverSteady = -1;
  return iteration_time(run.program, cluster, run.works, *make_network(named("closed_form")),
                        {200, 0, kNeverSteady, {}})
      .value;
}

// The path of a run that was stopped where it stays as it is; else one that does not repeat.
CriticalPath settled_path(const RandomRun& run, const Cluster& cluster) {
  CriticalPath path = result_of(run, cluster).path;
  if (off(seconds_of(run, cluster), path.seconds) > 1e-10) path.repeats = false;
  return path;
}

double sum_of(const CriticalPath& path) {
  double sum = 0;
  for (const PathStep& step : path.steps) sum += step.seconds;
  return sum;
}

std::set<int> ops_of(const CriticalPath& path) {
  std::set<int> ops;
  for (const PathStep& step : path.steps) ops.insert(step.op);
  return ops;
}

// Longer by that on every rank that takes part.
void lengthen(OpWork& work, double seconds) {
  for (double& each : work.seconds) each += seconds;
  for (OpWork::Call& call : work.calls) call.loads.start.value += seconds;
}

}  // namespace

TEST_CASE("the steps of a path add up to its iteration, on every network") {
  const Cluster& cluster = shaped_cluster(2, 2);
  for (int seed = 1; seed <= kPrograms; ++seed) {
    const RandomRun run = random_run(static_cast<std::uint64_t>(seed), cluster);
    for (const char* const network : {"closed_form", "fair_queues"}) {
      const SimulationResult result = result_of(run, cluster, network);
      CAPTURE(seed);
      CAPTURE(network);
      REQUIRE_FALSE(result.path.steps.empty());
      CHECK(off(sum_of(result.path), result.path.seconds) < kSame);
      CHECK(off(result.path.seconds * 1e3, result.timeline.iteration_ms) < kSame);
    }
  }
}

TEST_CASE("without contention an iteration is as long operation by operation as event by event, to the last bit") {
  const Cluster& cluster = shaped_cluster(2, 2);
  for (int seed = 1; seed <= kPrograms; ++seed) {
    const RandomRun run = random_run(static_cast<std::uint64_t>(seed), cluster);
    for (const EngineOptions& options :
         {EngineOptions{200, 0, 1e-13, {}}, {2, 0, 1e-6, {}}, {1, 12, 1e-9, {}}, {200, 0, -1, {}}}) {
      const SimulationResult events =
          simulate_works(run.program, cluster, run.works, *make_network(named("closed_form")), options);
      const Seconds time =
          iteration_time(run.program, cluster, run.works, *make_network(named("closed_form")), options);
      CAPTURE(seed);
      CAPTURE(options.iterations);
      CHECK(time.ms() == events.timeline.iteration_ms);
    }
  }
}

TEST_CASE("what is on a path has no slack, and one that repeats is found for almost every program") {
  const Cluster& cluster = shaped_cluster(2, 2);
  int repeats = 0;
  for (int seed = 1; seed <= kPrograms; ++seed) {
    const CriticalPath path = result_of(random_run(static_cast<std::uint64_t>(seed), cluster), cluster).path;
    CAPTURE(seed);
    for (const PathStep& step : path.steps)
      if (step.op >= 0 && step.iteration == 0) CHECK(path.slack[static_cast<std::size_t>(step.op)].seconds < kSame);
    repeats += path.repeats ? 1 : 0;
  }
  CHECK(repeats > kPrograms * 9 / 10);
}

TEST_CASE("an operation off the path that takes longer by less than its slack leaves the iteration as it is") {
  const Cluster& cluster = shaped_cluster(2, 2);
  int tried = 0;
  for (int seed = 1; seed <= kPrograms; ++seed) {
    const RandomRun run = random_run(static_cast<std::uint64_t>(seed), cluster);
    const CriticalPath path = settled_path(run, cluster);
    if (!path.repeats) continue;
    for (const Op& op : run.program.ops) {
      const double slack = path.slack[static_cast<std::size_t>(op.id)].seconds;
      if (slack <= 1e-6 || slack > path.seconds) continue;
      RandomRun longer = run;
      lengthen(longer.works[static_cast<std::size_t>(op.id)], 0.9 * slack);
      CAPTURE(seed);
      CAPTURE(op.id);
      CHECK(off(seconds_of(longer, cluster), path.seconds) < kSame);
      ++tried;
    }
  }
  CHECK(tried > kPrograms);
}

TEST_CASE("slack is not too small: what takes longer by more than it lengthens the iteration, on most programs") {
  const Cluster& cluster = shaped_cluster(2, 2);
  int tried = 0, longer_too = 0;
  for (int seed = 1; seed <= kPrograms; ++seed) {
    const RandomRun run = random_run(static_cast<std::uint64_t>(seed), cluster);
    const CriticalPath path = settled_path(run, cluster);
    if (!path.repeats) continue;
    for (const Op& op : run.program.ops) {
      const double slack = path.slack[static_cast<std::size_t>(op.id)].seconds;
      if (slack <= 1e-6) continue;
      RandomRun longer = run;
      lengthen(longer.works[static_cast<std::size_t>(op.id)], slack + 0.05 * path.seconds);
      ++tried;
      if (seconds_of(longer, cluster) > path.seconds * (1 + kSame)) ++longer_too;
    }
  }
  CHECK(longer_too > tried * 9 / 10);
}

TEST_CASE("a step of a path that takes longer lengthens the iteration by as much as the path passes it") {
  const Cluster& cluster = shaped_cluster(2, 2);
  int tried = 0;
  for (int seed = 1; seed <= kPrograms; ++seed) {
    const RandomRun run = random_run(static_cast<std::uint64_t>(seed), cluster);
    const CriticalPath path = settled_path(run, cluster);
    if (!path.repeats) continue;
    const double small = 1e-6 * path.seconds, large = 0.2 * path.seconds;
    for (const int op : ops_of(path)) {
      const auto passes = std::ranges::count_if(
          path.steps, [&](const PathStep& step) { return step.op == op && step.kind != PathStep::Kind::transfer; });
      RandomRun longer = run, much_longer = run;
      lengthen(longer.works[static_cast<std::size_t>(op)], small);
      lengthen(much_longer.works[static_cast<std::size_t>(op)], large);
      CAPTURE(seed);
      CAPTURE(op);
      const double expected = small * static_cast<double>(passes) / path.turns;
      CHECK(std::abs(seconds_of(longer, cluster) - path.seconds - expected) < kSame * path.seconds);
      CHECK(seconds_of(much_longer, cluster) <= path.seconds + large + kSame * path.seconds);
      ++tried;
    }
  }
  CHECK(tried > kPrograms);
}

TEST_CASE("paths of random plans add up, whatever is sharded how") {
  const std::vector<RandomChoice> choices = {
      {{Strategy::row_wise, Strategy::data_parallel}},
      {{Strategy::table_wise, Strategy::column_wise, Strategy::row_wise}, {TableKind::pooled}, "sparse_dist"},
      {{Strategy::table_row_wise, Strategy::grid_shard}, {TableKind::pooled}, "none"}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const RandomChoice& choice : choices) {
      const RandomPlan random = random_plan(seed, choice);
      const Program program = lower(random.plan, random.workload, *random.cluster, {});
      const auto compute = make_compute_model(named("roofline"));
      const auto network = make_network(named("fair_queues"));
      const SimulationResult result = simulate(program, *random.cluster, *compute, *network, {});
      CAPTURE(seed);
      CHECK(off(sum_of(result.path), result.path.seconds) < kSame);
    }
  }
}

}  // namespace shardsim::critical_path_test
