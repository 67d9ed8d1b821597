#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "plan/check.h"
#include "plan/dreamshard/placing_trainer.h"
#include "tests/plan/hand_context.h"
#include "tests/plan/test_setting.h"

namespace shardsim::dreamshard_test {

namespace fs = std::filesystem;

namespace {

// A policy of one iteration, in a file, for as long as the test runs.
struct PolicyFile {
  PolicyFile(const Workload& workload, const Cluster& cluster, const std::string& provider = "closed_form")
      : path(fs::temp_directory_path() / ("dreamshard_test_" + std::to_string(::getpid()) + ".h5")) {
    const auto memory = paper_memory();
    HandContext context{*memory, 1};
    add_hand_costs(context, workload, cluster);
    PlacingTraining training;
    training.iterations = 1;
    training.cost_steps = 20;
    training.cost_batch = 8;
    PlacingPolicy policy = train_placing({placement_task(workload, cluster, context, provider)}, training);
    policy.data = "one task";
    save_placing_policy(policy, path);
  }
  ~PolicyFile() { fs::remove(path); }
  std::string planner(const std::string& more = "") const {
    return "{name: dreamshard, policy: \"" + path.string() + "\"" + more + "}";
  }
  fs::path path;
};

}  // namespace

TEST_CASE("DreamShard's policy places every table whole on one rank, the same way each time") {
  const Cluster cluster = test_cluster(1, 4);
  const Workload workload = pooled_workload(10);
  const PolicyFile policy(workload, cluster);
  const Plan plan = plan_by(policy.planner(), workload, cluster);
  CHECK_NOTHROW(check_plan(plan, workload, cluster, {}));
  REQUIRE(plan.placements.size() == 10);
  for (const Placement& placement : plan.placements) CHECK(placement.strategy == Strategy::table_wise);
  CHECK(plan == plan_by(policy.planner(), workload, cluster));
  CHECK(plan_by(policy.planner(", samples: 0"), workload, cluster).placements ==
        plan_by(policy.planner(", samples: 0"), workload, cluster, 9).placements);  // nothing is drawn
  // Other numbers of tables and ranks are placed, too: the batch of all ranks is the one that was learned.
  Workload other = pooled_workload(3);
  other.batch_per_gpu = 32;
  CHECK(plan_by(policy.planner(), other, test_cluster(1, 8)).placements.size() == 3);
}

TEST_CASE("measured costs of a placement: shares of a rank, and exchanges of its own tables alone") {
  const Cluster cluster = test_cluster(1, 4);
  const Workload workload = pooled_workload(4);
  const auto memory = paper_memory();
  HandContext context{*memory, 1};
  add_hand_costs(context, workload, cluster);
  const PlacementTask task = placement_task(workload, cluster, context, "closed_form");
  const std::vector<int> apart{0, 1, 2, 3}, together{0, 0, 0, 0};
  const PlacementCosts one = task.measure(together), each = task.measure(apart);
  const std::vector<double> shards = task.label(apart);
  for (std::size_t rank = 0; rank < 4; ++rank)
    CHECK(each.forward[rank] + each.backward[rank] == doctest::Approx(shards[rank]));
  CHECK(one.forward[1] == 0);
  CHECK(one.exchange[1] == 0);
  CHECK(one.all == doctest::Approx(one.forward[0] + one.backward[0] + one.exchange[0]));  // nobody else sends
  CHECK(each.all < one.all);
}

TEST_CASE("DreamShard says by name what a policy does not fit") {
  const Cluster cluster = test_cluster(1, 4);
  const Workload workload = pooled_workload(4);
  const PolicyFile policy(workload, cluster);
  Workload changed = workload;
  changed.batch_per_gpu = 128;
  CHECK(has(error_of([&] { plan_by(policy.planner(), changed, cluster); }), "lookups of 256 samples"));
  changed = workload;
  changed.tables[2].kind = TableKind::sequence;
  CHECK(has(error_of([&] { plan_by(policy.planner(), changed, cluster); }), "'t2' is a sequence"));
  CHECK(has(error_of([&] { make_planner(options("{name: dreamshard}")); }), "policy"));
  const std::string text = error_of([&] { plan_by(policy.planner(), workload, test_cluster(1, 4, "100 KB")); });
  CAPTURE(text);
  CHECK(has(text, "missing on GPU"));
}

TEST_CASE("DreamShard refuses costs of another provider, unless the scenario states whose the policy learned") {
  const Cluster cluster = test_cluster(1, 4);
  const Workload workload = pooled_workload(4);
  const PolicyFile policy(workload, cluster, "gpu_kernels");
  const std::string text = error_of([&] { plan_by(policy.planner(), workload, cluster); });
  CHECK(has(text, "trained on costs by gpu_kernels, those of this case are by closed_form"));
  CHECK(has(text, "shardsim dreamshard train"));
  const std::string stated =
      "{name: dreamshard, policy: {file: \"" + policy.path.string() + "\", provider: gpu_kernels}}";
  CHECK(plan_by(stated, workload, cluster).placements.size() == 4);
}

}  // namespace shardsim::dreamshard_test
