#include <doctest/doctest.h>

#include <algorithm>

#include "program/timeline/named_times.h"
#include "program/timeline/rank_times.h"
#include "sim/lower/host/host_launches.h"
#include "tests/physics/lab.h"

namespace shardsim::host_test {

using physics::off;
using physics::simulated;

namespace {

ClusterSpec one_node(double sharing = 0) {
  ClusterSpec spec = physics::cluster_spec("toy_2x4.yaml", 1);
  spec.gpu.stream_sharing = sharing;
  return spec;
}

Op& add_compute(Program& program, const std::string& name, std::int64_t us, std::vector<int> after = {},
                int stream = 0) {
  Op op;
  op.id = static_cast<int>(program.ops.size());
  op.name = name;
  op.role = OpRole::dense_forward;
  op.stream = stream;
  op.after = std::move(after);
  op.fixed_ns = 1000 * us;
  op.kernels = 1;
  program.ops.push_back(op);
  return program.ops.back();
}

Program empty_program(const Cluster& cluster, std::vector<std::string> streams = {"compute"}) {
  Program program;
  program.world_size = cluster.world_size();
  program.ranks_per_node = cluster.ranks_per_node();
  program.batch_per_rank = 1;
  program.streams = std::move(streams);
  return program;
}

// Ten operations of 10 us each, of one kernel each.
Program ten_operations(const Cluster& cluster) {
  Program program = empty_program(cluster);
  for (int i = 0; i < 10; ++i) add_compute(program, "work", 10, i > 0 ? std::vector<int>{i - 1} : std::vector<int>{});
  return program;
}

Program with_launches(const Program& program, Seconds launch, bool waits = false) {
  Software software;
  software.name = "test";
  software.launch = launch;
  software.blocking_waits = waits;
  HostWork work;
  work.software = &software;
  Program launched = with_host(program, work);
  check_program(launched, Place{"test"});
  return launched;
}

const EngineOptions kTenIterations{10, 0, 1e-9, {}};

Timeline ran(const Program& program, const Cluster& cluster) {
  const Timeline timeline = simulated(program, cluster, "fair_queues", kTenIterations);
  CHECK(timeline.steady);
  return timeline;
}

}  // namespace

TEST_CASE("an iteration takes as long as the host or the GPU, whichever is slower") {
  const Cluster cluster(one_node());
  const Program program = ten_operations(cluster);
  for (const auto& [launch_us, iteration_us] : {std::pair{1.0, 100.0}, {9.0, 100.0}, {11.0, 110.0}, {50.0, 500.0}}) {
    const double us = launch_us, expected = iteration_us;
    CAPTURE(us);
    const Timeline timeline = ran(with_launches(program, {us * 1e-6}), cluster);
    CHECK(off(timeline.iteration_ms, expected * 1e-3) < 1e-9);
    const HostShare host = host_times_of(timeline).front();
    CHECK(off(host.busy_ms, 10 * us * 1e-3) < 1e-6);
    // The GPU works 100 us of the iteration; all the rest it waits for launches.
    CHECK(host.waited_for_ms == doctest::Approx(expected * 1e-3 - 0.1).epsilon(1e-6));
    CHECK(rank_times(timeline).front().compute_ms == doctest::Approx(0.1));
  }
}

// Two operations on two streams, each behind the other: 60 us, of which either stream works a half.
TEST_CASE("the host limits an iteration only where the GPU waits for it") {
  const Cluster cluster(one_node());
  Program program = empty_program(cluster, {"compute", "side"});
  add_compute(program, "here", 30);
  add_compute(program, "there", 30, {0}, 1);
  program.ops.front().after_previous = {1};
  const auto limit = [&](double launch_us) {
    const auto compute = make_compute_model(physics::named("roofline"));
    const auto network = make_network(physics::named("fair_queues"));
    return simulate(with_launches(program, {launch_us * 1e-6}), cluster, *compute, *network, kTenIterations).busiest;
  };
  // Launches of 18 us are 60 % of the iteration, but go ahead of it.
  CHECK(limit(18).what == "rank 0 compute");
  CHECK(limit(18).share == doctest::Approx(0.5));
  CHECK(limit(40).what == "rank 0 launch");
  CHECK(limit(40).share == doctest::Approx(1.0));
}

TEST_CASE("a host that runs ahead is held back to one iteration") {
  const Cluster cluster(one_node());
  const Timeline timeline = ran(with_launches(ten_operations(cluster), {1e-6}), cluster);
  double first_launch = 1e9, first_work = 1e9;
  for (const Span& span : timeline.spans) {
    double& first = is_host(timeline.ops[static_cast<std::size_t>(span.op)].op_class) ? first_launch : first_work;
    first = std::min(first, span.start_us);
  }
  CHECK(first_work - first_launch > 50);
  CHECK(first_work - first_launch < 100 + 1e-6);
}

// The wait stands between the fifth and the sixth operation and waits for the fourth: what is launched behind it
// starts when the wait and a launch are over.
TEST_CASE("a blocking wait keeps the host from launching") {
  const Cluster cluster(one_node());
  Program program = empty_program(cluster, {"compute", "side"});
  add_compute(program, "long", 200, {}, 1);
  add_compute(program, "before", 10);
  add_compute(program, "host_wait", 1, {0});
  program.ops.back().role = OpRole::wait_for_splits;
  program.ops.back().kernels = 0;
  add_compute(program, "behind", 10, {1});
  program.ops.front().after_previous = {3};
  const Timeline blocked = ran(with_launches(program, {5e-6}, true), cluster);
  // long 200, wait 1, launch 5, behind 10, and the launch of the next long one, which went before.
  CHECK(off(blocked.iteration_ms, (200 + 1 + 5 + 10) * 1e-3) < 1e-6);
  // On another thread the launch of `behind` went ahead of the wait, but the operation is no longer behind it either.
  const Timeline elsewhere = ran(with_launches(program, {5e-6}, false), cluster);
  CHECK(elsewhere.iteration_ms < blocked.iteration_ms);
}

TEST_CASE("compute side by side shares the GPU by stream_sharing, launches excepted") {
  for (const auto& [sharing, iteration_us] : {std::pair{0.0, 30.0}, {0.5, 35.0}, {1.0, 40.0}}) {
    const Cluster cluster(one_node(sharing));
    Program program = empty_program(cluster, {"compute", "side"});
    add_compute(program, "long", 30);
    add_compute(program, "short", 10, {}, 1);
    program.ops[0].after_previous = program.ops[1].after_previous = {0, 1};
    // Beside each other for 10 (1 + s) us; then the long one goes on alone.
    CHECK(off(ran(program, cluster).iteration_ms, iteration_us * 1e-3) < 1e-9);
    Op& launch = program.ops[1];
    launch.op_class = OpClass::host;
    launch.role = OpRole::launch;
    launch.kernels = 0;
    CHECK(off(ran(program, cluster).iteration_ms, 30e-3) < 1e-9);
  }
}

TEST_CASE("software that takes no time leaves a lowered program as it was, but for its kernels") {
  const Cluster cluster(physics::cluster_spec("toy_2x4.yaml"));
  const Workload workload = physics::shipped_workload("dlrm_criteo_1tb.yaml");
  const Software ideal = software_from_tree(parse_yaml("{name: ideal}", "test"), shipped_software());
  LoweringOptions options;
  const Program without = physics::lowered("{name: row_wise}", workload, cluster, options);
  options.software = &ideal;
  const Program with = physics::lowered("{name: row_wise}", workload, cluster, options);
  REQUIRE(with.ops.size() == without.ops.size());
  CHECK(with.streams == without.streams);
  for (std::size_t i = 0; i < with.ops.size(); ++i) {
    CHECK(with.ops[i].name == without.ops[i].name);
    CHECK(with.ops[i].after == without.ops[i].after);
    CHECK(with.ops[i].flops == without.ops[i].flops);
  }
}

}  // namespace shardsim::host_test
