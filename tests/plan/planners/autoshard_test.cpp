#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "plan/autoshard/trainer.h"
#include "plan/check.h"
#include "tests/plan/hand_context.h"
#include "tests/plan/test_setting.h"

namespace shardsim::autoshard_test {

namespace fs = std::filesystem;

namespace {

// A policy of one update, in a file, for as long as the test runs.
struct PolicyFile {
  PolicyFile(const Workload& workload, const Cluster& cluster, const std::string& provider = "closed_form")
      : path(fs::temp_directory_path() / ("autoshard_test_" + std::to_string(::getpid()) + ".h5")) {
    const auto memory = paper_memory();
    HandContext context{*memory, 1};
    add_hand_costs(context, workload, cluster);
    PolicyTraining training;
    training.updates = 1;
    training.cost_batch = 16;
    ShardingPolicy policy = train_policy({sharding_task(workload, cluster, context, provider)}, training);
    policy.data = "one task";
    save_policy(policy, path);
  }
  ~PolicyFile() { fs::remove(path); }
  std::string planner() const { return "{name: autoshard, policy: \"" + path.string() + "\"}"; }
  fs::path path;
};

}  // namespace

TEST_CASE("a policy places every table whole on one rank, the same way each time") {
  const Cluster cluster = test_cluster(1, 4);
  const Workload workload = pooled_workload(10);
  const PolicyFile policy(workload, cluster);
  const Plan plan = plan_by(policy.planner(), workload, cluster);
  CHECK_NOTHROW(check_plan(plan, workload, cluster, {}));
  REQUIRE(plan.placements.size() == 10);
  for (const Placement& placement : plan.placements) CHECK(placement.strategy == Strategy::table_wise);
  CHECK(plan == plan_by(policy.planner(), workload, cluster));
  // Other numbers of tables and ranks are placed, too.
  CHECK(plan_by(policy.planner(), pooled_workload(3), test_cluster(1, 4)).placements.size() == 3);
}

TEST_CASE("a policy says by name what it does not fit") {
  const Cluster cluster = test_cluster(1, 4);
  const Workload workload = pooled_workload(4);
  const PolicyFile policy(workload, cluster);
  Workload changed = workload;
  changed.batch_per_gpu = 128;
  CHECK(has(error_of([&] { plan_by(policy.planner(), changed, cluster); }), "lookups of 256 samples"));
  changed = workload;
  changed.optimizer = "adam";
  CHECK(has(error_of([&] { plan_by(policy.planner(), changed, cluster); }), "updates by"));
  changed = workload;
  changed.tables[2].kind = TableKind::sequence;
  CHECK(has(error_of([&] { plan_by(policy.planner(), changed, cluster); }), "'t2' is a sequence"));
  CHECK(has(error_of([&] { make_planner(options("{name: autoshard}")); }), "policy"));
}

TEST_CASE("a policy serves the costs that it was trained on, by the exact name of who says them") {
  const Cluster cluster = test_cluster(1, 4);
  const Workload workload = pooled_workload(4);
  const auto memory = paper_memory();
  HandContext context{*memory, 1};
  add_hand_costs(context, workload, cluster);
  const auto planned = [&](const std::string& planner) {
    return make_planner(options(planner))->plan(workload, cluster, context);
  };
  for (const std::string trained : {"closed_form", "gpu_kernels", "learned"}) {
    const PolicyFile policy(workload, cluster, trained);
    for (const std::string asked : {"closed_form", "gpu_kernels", "learned"}) {
      context.family = asked == "closed_form" ? "roofline" : asked == "gpu_kernels" ? "fbgemm" : asked;
      const std::string text = trained == asked ? "" : "costs by " + trained + ", those of this case are by " + asked;
      if (text.empty()) CHECK(planned(policy.planner()).placements.size() == 4);
      if (!text.empty()) CHECK(has(error_of([&] { planned(policy.planner()); }), text));
    }
    const std::string stated = "{file: \"" + policy.path.string() + "\", provider: " + trained + "}";
    CHECK(planned("{name: autoshard, policy: " + stated + "}").placements.size() == 4);
  }
}

TEST_CASE("tables that find no room are infeasible, with the bytes that are missing") {
  const Workload workload = pooled_workload(4);
  const PolicyFile policy(workload, test_cluster(1, 4));
  const std::string text = error_of([&] { plan_by(policy.planner(), workload, test_cluster(1, 4, "100 KB")); });
  CAPTURE(text);
  CHECK(has(text, "missing on GPU"));
}

}  // namespace shardsim::autoshard_test
