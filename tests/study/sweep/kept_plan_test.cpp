#include "study/sweep/kept_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/tree/yaml.h"
#include "plan/check.h"
#include "plan/memory_model.h"
#include "study/planning/prepared_case.h"
#include "study/run/case_result.h"

namespace shardsim::kept_plan_test {

namespace {

Case case_of(const std::string& file, const std::string& name,
             const std::vector<std::pair<std::string, std::string>>& settings = {}) {
  Overrides changes;
  changes.set = settings;
  Scenario scenario = read_scenario(std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/" + file, changes);
  const auto found = std::ranges::find(scenario.cases, name, &Case::name);
  REQUIRE(found != scenario.cases.end());
  found->payload_both = false;
  return *found;
}

Plan plan_of(const Case& item) {
  return make_plan(item, cluster_of(item), 7, {});
}

std::shared_ptr<const IterationJudge> judge() {
  static const auto shipped = std::make_shared<const IterationJudge>();
  return shipped;
}

// The figures of `shardsim run` for the case with this plan, computed from nothing.
PointFigures run_figures(const Case& item, const Plan& plan) {
  const Scenario scenario;
  const PreparedCase prepared(scenario, item, cluster_of(item), plan);
  check_memory(plan, item.workload, prepared.cluster, *make_memory_model(item.memory_model));
  const CaseResult result = simulated_case(prepared, false);
  REQUIRE(!result.path.empty());
  const double spread = result.drawn ? result.drawn->iteration_ms.standard_error / result.iteration_ms : 0;
  const Interval interval = judge()->wordless_interval(
      item, {result.iteration_ms, result.timeline, result.path, {spread, result.placement_log_times}});
  return {result.iteration_ms,
          interval,
          result.samples_per_s,
          result.limit,
          std::ranges::max(result.memory_per_rank),
          result.memory_profile.highest().bytes(),
          result.buffers_counted,
          result.memory_capacity};
}

// Figures, or why there are none.
template <typename Simulate>
std::pair<PointFigures, std::string> outcome(const Simulate& simulate) {
  try {
    return {simulate(), ""};
  } catch (const Error& error) {
    const std::string text = error.what();
    return {{}, text.substr(text.find("': ") == std::string::npos ? 0 : text.find("': ") + 3)};
  }
}

// One value of a case each, from a few that come again.
using Change = std::function<void(Case&, Rng&)>;

double one_of(Rng& rng, std::initializer_list<double> values) {
  return *(values.begin() + rng.below(values.size()));
}

// The member that `of` finds takes one of these values.
template <typename Of>
Change one_value(Of of, std::vector<double> values) {
  return [of, values](Case& item, Rng& rng) {
    auto& member = of(item);
    member = static_cast<std::remove_reference_t<decltype(member)>>(values[rng.below(values.size())]);
  };
}

bool either(Rng& rng) {
  return rng.below(2) == 0;
}

std::vector<Change> changes() {
  return {
      one_value([](Case & item) -> auto& { return item.workload.batch_per_gpu; }, {96, 128, 192}),
      [](Case& item, Rng& rng) {
        if (item.cluster.nics) item.cluster.nics->rate = {one_of(rng, {12.5e9, 25e9, 50e9})};
      },
      one_value([](Case & item) -> auto& { return item.cluster.gpu.hbm_bandwidth.bytes_per_second; }, {1e12, 2e12}),
      one_value([](Case & item) -> auto& { return item.cluster.gpu.overlap_slowdown; }, {0, 0.1}),
      one_value([](Case & item) -> auto& { return item.cluster.host.time_factor; }, {1, 3}),
      one_value([](Case & item) -> auto& { return item.cluster.pcie.generation; }, {3, 4}),
      one_value([](Case & item) -> auto& { return item.cluster.launch_overhead.value; }, {1e-5, 5e-5}),
      [](Case& item, Rng& rng) {
        item.cluster.faults.clear();
        if (either(rng)) item.cluster.faults = {{0, 0, {}, 0.5, one_of(rng, {0.5, 0.8})}};
      },
      one_value([](Case & item) -> auto& { return item.workload.tables.front().access.s; }, {0.7, 1.2}),
      [](Case& item, Rng& rng) { item.workload.tables.back().dtype = either(rng) ? Dtype::fp16 : Dtype::fp32; },
      [](Case& item, Rng& rng) { item.workload.optimizer = either(rng) ? "sgd" : "adagrad"; },
      one_value([](Case & item) -> auto& { return item.workload.id_bytes; }, {4, 8}),
      one_value([](Case & item) -> auto& { return item.workload.accumulate; }, {1, 2, 5}),
      [](Case& item, Rng& rng) {
        if (item.workload.sharding_groups)
          item.workload.sharding_groups->sync_every = static_cast<std::int64_t>(one_of(rng, {1, 2, 10}));
      },
      [](Case& item, Rng& rng) {
        item.load.row_shares = either(rng) ? LoadOptions::RowShares::even : LoadOptions::RowShares::real;
      },
      [](Case& item, Rng& rng) { item.load.row_cut = either(rng) ? RowCut::blocks : RowCut::modulo; },
      [](Case& item, Rng& rng) { item.overlap = either(rng); },
      one_value([](Case & item) -> auto& { return item.iterations; }, {1, 2, 5}),
      [](Case& item, Rng& rng) { item.network = named_map(either(rng) ? "closed_form" : "fair_queues"); },
      [](Case& item, Rng& rng) {  // FBGEMM's kernels refuse tables of one column
        item.compute_model =
            parse_yaml(either(rng) ? "{name: gpu_kernels, kernels: hugectr}" : "{name: roofline}", "test");
      },
      [](Case& item, Rng& rng) {
        item.algorithms.clear();
        if (either(rng)) item.algorithms["all_reduce"] = either(rng) ? "ring" : "tree";
      },
      [](Case& item, Rng& rng) {
        if (item.software) item.software->launch = {one_of(rng, {1e-6, 2e-5})};
      },
  };
}

// Walks from case to case, one to three values at a time, and now and then back to the first one.
void check_walk(const Case& first, int steps, std::uint64_t seed) {
  const Plan plan = plan_of(first);
  const std::vector<Change> all = changes();
  KeptPlan kept(plan, judge());
  Rng rng(seed);
  Case item = first;
  int simulated = 0;
  for (int step = 0; step < steps; ++step) {
    for (std::uint64_t i = rng.below(3); i < 3 && step > 0; ++i) all[rng.below(all.size())](item, rng);
    if (step % 10 == 9) item = first;
    CAPTURE(step);
    const auto of_kept = outcome([&] { return kept.figures(item); });
    const auto of_run = outcome([&] { return run_figures(item, plan); });
    CHECK(of_kept.first == of_run.first);
    CHECK(of_kept.second == of_run.second);
    simulated += of_kept.second.empty() ? 1 : 0;
  }
  CHECK(simulated > steps / 2);
}

Failure failure_of(KeptPlan& kept, const Case& item) {
  try {
    kept.figures(item);
  } catch (const Error& error) {
    return error.failure();
  }
  FAIL("no error");
  return Failure::run;
}

}  // namespace

TEST_CASE("whatever changes from case to case, a kept plan says what a run says, to the last bit") {
  check_walk(case_of("toy.yaml", "flexshard_3tier"), 60, 1);
  check_walk(case_of("mixed.yaml", "sparse_dist"), 40, 2);
}

TEST_CASE("so it does where replicas are averaged in one of several iterations") {
  check_walk(case_of("toy.yaml", "row_wise", {{"workload.sharding_groups", "{size: 4, sync_every: 2}"}}), 40, 4);
}

TEST_CASE("so it does where hosts launch what runs") {
  check_walk(case_of("wide_deep.yaml", "hugectr2.2/v100/1x512/dim16/vocab2322444"), 40, 3);
}

TEST_CASE("a model that is published on its system is judged by other systems, in a sweep and in a run") {
  Case item = case_of("a100_iterations.yaml", "dlrm_dcn/16384");
  const Plan plan = plan_of(item);
  const PointFigures judged = KeptPlan(plan, judge()).figures(item);
  CHECK(judged == run_figures(item, plan));
  item.published.clear();  // as in the scenario of a sweep
  CHECK(KeptPlan(plan, judge()).figures(item) == judged);
  item.workload.name = "a model of one's own";
  const PointFigures like_others = KeptPlan(plan, judge()).figures(item);
  CHECK(judged.iteration_ms == like_others.iteration_ms);
  CHECK(judged.interval.rest_scale != like_others.interval.rest_scale);
}

TEST_CASE(
    "draws of where hot rows lie are those of a run, whether there is room for all of them, for some or for none") {
  Case item = case_of("toy.yaml", "row_wise", {{"workload", "dlrm_3"}, {"cluster.gpu.hbm", "40 GiB"}});
  const Plan plan = plan_of(item);
  constexpr std::size_t kSome = 300'000;
  for (const std::size_t most_bytes : {KeptPlan::kMostProgramBytes, kSome, std::size_t{0}}) {
    KeptPlan kept(plan, judge(), nullptr, most_bytes);
    for (const std::int64_t batch : {256, 512, 256}) {
      item.workload.batch_per_gpu = batch;
      for (const double rate : {12.5e9, 50e9}) {
        item.cluster.nics->rate = {rate};
        CAPTURE(most_bytes);
        const PointFigures figures = kept.figures(item);
        CHECK(figures.interval.placements.size() == 32);
        CHECK(figures == run_figures(item, plan));
      }
    }
  }
}

TEST_CASE("a kept plan names what of a case was never measured, as a run does, and of another network anew") {
  Case item = case_of("toy.yaml", "flexshard_3tier");
  KeptPlan kept(plan_of(item), judge());
  CHECK(kept.figures(item).interval.outside == std::vector<std::string>{"no published run on toy"});
  item.cluster.gpu.model = "A100-SXM4-80GB";
  item.name = "on_a100";
  CHECK(kept.figures(item).interval.outside.empty());
}

TEST_CASE("a plan that does not suit a case is refused, and the next case is simulated") {
  const Case first = case_of("toy.yaml", "flexshard_3tier");
  KeptPlan kept(plan_of(first), judge());
  const PointFigures before = kept.figures(first);
  Case item = first;
  item.cluster.nodes = 1;
  CHECK(failure_of(kept, item) == Failure::input);
  item = first;
  item.cluster.gpu.hbm = item.cluster.gpu.reserved;
  CHECK(failure_of(kept, item) == Failure::infeasible);
  item = first;
  item.job = JobPart{};
  CHECK(failure_of(kept, item) == Failure::input);
  CHECK(kept.figures(first) == before);
}

TEST_CASE("the network that allows one engine in a process is asked as often as any other") {
  Case item = case_of("toy.yaml", "flexshard_3tier");
  KeptPlan kept(plan_of(item), judge());
  const PointFigures fair = kept.figures(item);
  item.network = named_map("simgrid");
  const PointFigures first = kept.figures(item), second = kept.figures(item);
  CHECK(first == second);
  CHECK(first.iteration_ms == doctest::Approx(fair.iteration_ms).epsilon(1e-6));
}

TEST_CASE("drawn batches are those of a run") {
  Case item = case_of("toy.yaml", "flexshard_3tier");
  const Plan plan = plan_of(item);
  item.load.batches = LoadOptions::Batches::drawn;
  item.load.iterations = 3;
  KeptPlan kept(plan, judge());
  CHECK(kept.figures(item) == run_figures(item, plan));
  ++item.load.seed;
  CHECK(kept.figures(item) == run_figures(item, plan));
}

// The sums of what is kept were once taken anew for each Program, which made the 200th point twice as dear.
TEST_CASE("a point costs the same however many came before it") {
  const Case item = case_of("toy.yaml", "row_wise");
  const Plan plan = plan_of(item);
  int batch = 1000;
  const auto cpu_of = [&](KeptPlan& kept, int points) {
    const std::clock_t from = std::clock();
    for (int point = 0; point < points; ++point) {
      Case other = item;
      other.workload.batch_per_gpu = ++batch;
      kept.figures(other);
    }
    return static_cast<double>(std::clock() - from);
  };
  KeptPlan full(plan, judge());
  cpu_of(full, 220);
  double first = 1e300, later = 1e300;
  for (int round = 0; round < 3; ++round) {
    KeptPlan fresh(plan, judge());
    cpu_of(fresh, 1);  // makes its cluster
    first = std::min(first, cpu_of(fresh, 8));
    later = std::min(later, cpu_of(full, 8));
  }
  CHECK(later < 1.5 * first);
}

}  // namespace shardsim::kept_plan_test
