#include <doctest/doctest.h>

#include <algorithm>

#include "sim/engine/jobs/job_engine.h"
#include "study/result/result_fields.h"
#include "tests/physics/lab.h"

// Several Programs on one fabric: what they do not share leaves them as they are alone, what they share never carries
// more than its rate.

namespace shardsim {

// For the way back from the process that simulates (base/packed.h).
template <typename Visitor>
void fields(Visitor& visit, MaybeConst<JobSimulation> auto& job) {
  visit(job.simulation.timeline, job.simulation.busiest, job.measured, job.shortest_ms, job.longest_ms);
}

}  // namespace shardsim

namespace shardsim::physics::jobs_test {

namespace {

struct TestJob {
  Program program;
  std::vector<int> nodes;
  double start = 0;  // seconds
};

std::vector<JobSimulation> side_by_side(const std::vector<TestJob>& jobs, const Cluster& fabric, int iterations = 4,
                                        const std::string& network = "simgrid") {
  return unpacked<std::vector<JobSimulation>>(on_network(network, [&] {
    const auto compute = make_compute_model(named("roofline"));
    std::vector<Cluster> parts;
    for (const TestJob& job : jobs) parts.push_back(Cluster(fabric.spec(), job.nodes));
    std::vector<JobRun> runs;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      EngineOptions options;
      options.iterations = iterations;
      runs.push_back({"job", {"test"}, jobs[i].program, parts[i], *compute, options, {jobs[i].start}});
    }
    return packed(simulate_jobs(runs, fabric, *make_network(named(network))));
  }));
}

double ms(const JobSimulation& job) {
  return job.simulation.timeline.iteration_ms;
}

ClusterSpec fat_tree(int nodes, int nodes_per_leaf, double oversubscription) {
  ClusterSpec spec = cluster_spec("two_tier_8.yaml", nodes);
  spec.fabric.kind = "fat_tree";
  spec.fabric.nodes_per_leaf = nodes_per_leaf;
  spec.fabric.oversubscription = oversubscription;
  return spec;
}

Program exchange(const Cluster& part, std::int64_t bytes) {
  return only_collective(part, OpClass::all_to_all, even_matrix(bytes));
}

// Bytes per second that the job's all-to-all sends up from one leaf, when it has a node under each of two leaves: half
// of what each rank sends crosses.
double up_rate(const JobSimulation& job, std::int64_t bytes, int ranks_per_leaf) {
  return 0.5 * static_cast<double>(bytes) * ranks_per_leaf / (ms(job) * 1e-3);
}

}  // namespace

TEST_CASE("on a fabric that never limits, jobs run exactly as alone and as on a cluster of their own") {
  for (const std::string file : {"two_tier_8.yaml", "a100_mesh_4x8.yaml"}) {
    CAPTURE(file);
    const Cluster fabric(cluster_spec(file, 4)), own(cluster_spec(file, 2));
    const Workload workload = shipped_workload("rm1.yaml");
    const Program rows = lowered("{name: row_wise}", workload, own);
    const Program tiers = lowered("{name: flexshard_3tier}", workload, own);
    const TestJob a{rows, {0, 2}}, b{tiers, {3, 1}, 0.0123};
    const auto both = side_by_side({a, b}, fabric);
    const double alone[] = {ms(side_by_side({a}, fabric)[0]), ms(side_by_side({b}, fabric)[0])};
    const double apart[] = {simulated(rows, own).iteration_ms, simulated(tiers, own).iteration_ms};
    for (int job = 0; job < 2; ++job) {
      CAPTURE(job);
      CHECK(off(ms(both[job]), alone[job]) <= 1e-9);
      CHECK(off(ms(both[job]), apart[job]) <= 1e-9);
      CHECK(both[job].simulation.timeline.steady);
      CHECK(both[job].simulation.timeline.world_size == own.world_size());
    }
    CHECK(both[0].simulation.timeline.spans.size() == simulated(rows, own).spans.size());
  }
}

TEST_CASE("equal jobs that share one bottleneck take twice as long, and the link carries its rate") {
  const std::int64_t bytes = 64 << 20;
  const Cluster fabric(fat_tree(4, 2, 8));
  const Program program = exchange(Cluster(fabric.spec(), {0, 2}), bytes);
  const TestJob a{program, {0, 2}}, b{program, {1, 3}};
  const double alone = ms(side_by_side({a}, fabric)[0]);
  const auto both = side_by_side({a, b}, fabric);
  const double rate = fabric.links()[fabric.leaf_up(0)].rate.bytes_per_second;
  double carried = 0;
  for (const JobSimulation& job : both) {
    CHECK(ms(job) <= 2 * alone);
    CHECK(ms(job) >= 1.99 * alone);  // but for the latency, which is paid side by side
    carried += up_rate(job, bytes, 8);
    CHECK(job.simulation.busiest.what == "leaf0/up");
    CHECK(job.simulation.busiest.share <= 1 + 1e-9);
    CHECK(job.simulation.busiest.share >= 0.99);
  }
  CHECK(carried <= rate * (1 + 1e-9));
}

TEST_CASE("three unequal jobs keep the bounds at the link that they share") {
  const Cluster fabric(fat_tree(6, 3, 12));
  const std::vector<std::int64_t> bytes = {48 << 20, 16 << 20, 80 << 20};
  std::vector<TestJob> jobs;
  for (int i = 0; i < 3; ++i)
    jobs.push_back({exchange(Cluster(fabric.spec(), {i, i + 3}), bytes[i]), {i, i + 3}, 1e-4 * i});
  const auto together = side_by_side(jobs, fabric, 20);
  double carried = 0;
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    const double alone = ms(side_by_side({jobs[i]}, fabric)[0]);
    CHECK(ms(together[i]) >= alone * (1 - 1e-9));
    CHECK(ms(together[i]) <= 3 * alone);
    carried += up_rate(together[i], bytes[i], 8);
  }
  const double rate = fabric.links()[fabric.leaf_up(0)].rate.bytes_per_second;
  CHECK(carried <= 1.001 * rate);  // windows of whole iterations begin and end a little apart
  CHECK(carried >= 0.95 * rate);
}

TEST_CASE("jobs under leaves of their own, and jobs on the closed form, leave each other alone") {
  const Cluster fabric(fat_tree(4, 2, 8));
  const Program program = exchange(Cluster(fabric.spec(), {0, 1}), 1 << 20);
  const TestJob a{program, {0, 1}}, b{program, {2, 3}};
  const auto both = side_by_side({a, b}, fabric);
  const double alone = ms(side_by_side({a}, fabric)[0]);
  for (const JobSimulation& job : both) CHECK(off(ms(job), alone) <= 1e-9);
  const TestJob crossing{exchange(Cluster(fabric.spec(), {0, 2}), 1 << 20), {0, 2}};
  const TestJob other{crossing.program, {1, 3}};
  const auto formula = side_by_side({crossing, other}, fabric, 4, "closed_form");
  CHECK(off(ms(formula[0]), ms(side_by_side({crossing}, fabric)[0])) <= 1e-6);
}

// One leaf is shared, the other is not: nodes that are alike alone are told apart.
TEST_CASE("a job whose nodes see different neighbours is slowed as its busiest node") {
  const Cluster fabric(fat_tree(6, 2, 8));
  const Program wide = exchange(Cluster(fabric.spec(), {4, 0, 2}), 32 << 20);
  const Program small = exchange(Cluster(fabric.spec(), {1, 3}), 32 << 20);
  const TestJob a{wide, {4, 0, 2}}, b{small, {1, 3}};
  const auto both = side_by_side({a, b}, fabric, 10);
  const double alone = ms(side_by_side({a}, fabric)[0]);
  CHECK(ms(both[0]) > 1.3 * alone);
  CHECK(ms(both[0]) <= 2 * alone);
  const double a_out = 32.0 * (1 << 20) * 8 * 2 / 3 / (ms(both[0]) * 1e-3);
  CHECK(a_out + up_rate(both[1], 32 << 20, 8) <= 1.001 * fabric.links()[fabric.leaf_up(0)].rate.bytes_per_second);
}

TEST_CASE("a start shifts a job's phase: equal jobs at one bottleneck stay within the bound from any start") {
  const Cluster fabric(fat_tree(4, 2, 8));
  const Program program = exchange(Cluster(fabric.spec(), {0, 2}), 8 << 20);
  const double alone = ms(side_by_side({{program, {0, 2}}}, fabric)[0]);
  for (double share : {0.0, 0.25, 0.5, 3.7}) {
    CAPTURE(share);
    const auto both = side_by_side({{program, {0, 2}}, {program, {1, 3}, share * alone * 1e-3}}, fabric);
    for (const JobSimulation& job : both) {
      CHECK(ms(job) <= 2 * alone * (1 + 1e-9));
      CHECK(ms(job) >= 1.9 * alone);
    }
  }
}

TEST_CASE("the same jobs give the same bytes, and the order in which they are listed gives the same times") {
  const Cluster fabric(fat_tree(4, 2, 4));
  const Workload workload = shipped_workload("toy_history.yaml");
  const TestJob a{lowered("{name: row_wise}", workload, Cluster(fabric.spec(), {0, 2})), {0, 2}};
  const TestJob b{lowered("{name: flexshard_3tier}", workload, Cluster(fabric.spec(), {1, 3})), {1, 3}, 2e-6};
  const auto once = side_by_side({a, b}, fabric), again = side_by_side({a, b}, fabric);
  const auto turned = side_by_side({b, a}, fabric);
  for (int job = 0; job < 2; ++job) {
    CHECK(once[job].simulation.timeline == again[job].simulation.timeline);
    CHECK(once[job].simulation.busiest == again[job].simulation.busiest);
    CHECK(off(ms(turned[1 - job]), ms(once[job])) <= 1e-6);
  }
}

TEST_CASE("a job that keeps another waiting for too many of its iterations is refused by name") {
  const Cluster fabric(cluster_spec("toy_2x4.yaml", 2));
  const Program program = exchange(Cluster(fabric.spec(), {0}), 1024);
  CHECK_THROWS_WITH_AS(side_by_side({{program, {0}}, {program, {1}, 3600}}, fabric),
                       doctest::Contains("not measured yet"), Error);
}

}  // namespace shardsim::physics::jobs_test
