#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "program/timeline/arrivals.h"
#include "study/run/case_result.h"
#include "study/run/drawn_batches.h"
#include "study/run/explained_case.h"
#include "study/why/sentence.h"
#include "tests/physics/lab.h"
#include "tests/study/scenario_text.h"

namespace shardsim::why_test {
namespace {

using namespace shardsim::physics;

constexpr double kSame = 1e-9;  // of an iteration

double sum_of(const CriticalPath& path) {
  double sum = 0;
  for (const PathStep& step : path.steps) sum += step.seconds;
  return sum;
}

// On the path a collective takes from the arrival of its last member to the end of the rank that the path goes on with:
// what a run charges as transfer; what it charges as waiting lies before.
void check_charges(const SimulationResult& simulated) {
  const Timeline& timeline = simulated.timeline;
  const Arrivals arrivals(timeline);
  std::map<std::pair<int, int>, double> on_path;  // by operation and rank
  for (const PathStep& step : simulated.path.steps)
    if (step.iteration == 0 && (step.kind == PathStep::Kind::start || step.kind == PathStep::Kind::transfer))
      on_path[{step.op, step.rank}] += step.seconds * 1e6;
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    const auto found = on_path.find({span.op, span.rank});
    if (found == on_path.end() || simulated.path.turns > 1) continue;
    CAPTURE(timeline.ops[static_cast<std::size_t>(span.op)].name);
    const double charged = span.end_us - arrivals.begin_us(i);
    // A path that is cut at the end of the iteration before has less.
    if (simulated.path.repeats) CHECK(std::abs(found->second - charged) < kSame * timeline.iteration_ms * 1e3);
    CHECK(found->second < charged + kSame * timeline.iteration_ms * 1e3);
  }
}

void check_path(const SimulationResult& simulated) {
  REQUIRE_FALSE(simulated.path.steps.empty());
  CHECK(off(sum_of(simulated.path), simulated.path.seconds) < kSame);
  check_charges(simulated);
}

void check_case(const Scenario& scenario, const Case& item) {
  CAPTURE(item.name);
  if (item.job) return;  // with its fabric
  std::optional<PreparedCase> prepared;
  try {
    Cluster cluster = cluster_of(item);
    Plan plan = shipped_plan(scenario, item, cluster);
    prepared.emplace(scenario, item, std::move(cluster), std::move(plan));
  } catch (const Error& error) {
    REQUIRE(item.compared);  // one of several planners may have no plan
    return;
  }
  const bool drawn = item.load.batches == LoadOptions::Batches::drawn;
  const SimulationResult simulated =
      drawn ? simulate_drawn(*prepared, false).nearest : simulate_case(*prepared, *prepared->network());
  check_path(simulated);
  CHECK(off(simulated.path.seconds * 1e3, simulated.timeline.iteration_ms) < kSame);
}

void check_fabric(const Scenario& scenario, const Fabric& fabric) {
  std::vector<PreparedCase> jobs;
  jobs.reserve(fabric.jobs.size());
  std::vector<const PreparedCase*> group;
  for (const std::size_t job : fabric.jobs) {
    const Case& item = scenario.cases[job];
    Cluster cluster = cluster_of(item);
    Plan plan = shipped_plan(scenario, item, cluster);
    jobs.emplace_back(scenario, item, std::move(cluster), std::move(plan));
    group.push_back(&jobs.back());
  }
  for (const JobSimulation& job : simulated_side_by_side(group, {})) check_path(job.simulation);
}

const Case& case_of(const Scenario& scenario, const std::string& name) {
  return *std::ranges::find(scenario.cases, name, &Case::name);
}

// The case with a lever moved and the plan of the original, simulated from the start.
// With the rows where they lay before the change, as `load: {draw: N}` says.
double simulated_anew(const Scenario& scenario, const Case& item, const Change& change) {
  Cluster before = cluster_of(item);
  Plan plan = make_plan(item, before, scenario.seed, {});
  Case changed = changed_case(item, change).item;
  changed.load.draw = PreparedCase(scenario, item, before, plan).row_draw();
  const PreparedCase prepared(scenario, changed, cluster_of(changed), std::move(plan));
  return simulate_case(prepared, *make_network(changed.network)).timeline.iteration_ms;
}

}  // namespace

TEST_CASE("the path of every case of every shipped scenario adds up to its iteration, and charges as a run does" *
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

TEST_CASE("what is said to help helps as much when the changed case is simulated from the start") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"flexshard.yaml", "rm1/flexshard_3tier"}, {"toy.yaml", "row_wise"}, {"hstu.yaml", ""}, {"wide_deep.yaml", ""}};
  for (const auto& [file, name] : cases) {
    const Scenario scenario = read_scenario(shipped_path(file), {});
    const Case& item = name.empty() ? scenario.cases.front() : case_of(scenario, name);
    CAPTURE(file);
    const ExplainedCase explained = explained_case(scenario, item, true, {});
    REQUIRE(explained.help);
    CHECK(off(explained.help->iteration_ms, explained.why.iteration_ms) < kSame);
    for (const Elasticity& each : explained.help->elasticities) {
      CAPTURE(each.name);
      int number = 0;
      while (words(static_cast<Lever>(number)).key != each.lever) ++number;
      const Lever lever = static_cast<Lever>(number);
      if (lever == Lever::collective_starts || lever == Lever::pcie) continue;  // no case says it
      const auto table = std::ranges::find(item.workload.tables, each.table, &Table::name);
      const int index = each.table.empty() ? -1 : static_cast<int>(table - item.workload.tables.begin());
      for (const double step : {0.1, -0.1}) {
        const double factor = words(lever).is_rate ? 1 + step : 1 - step;
        const double ms = simulated_anew(scenario, item, {lever, factor, index});
        const double said = (step > 0 ? each.better_pct : each.worse_pct).value();
        CHECK(std::abs(100 * (ms / explained.why.iteration_ms - 1) - said) < 1e-6);
      }
    }
  }
}

TEST_CASE("more of a rate and less of a cost never lengthen the iteration of a plan without contention") {
  const Scenario scenario = read_scenario(shipped_path("flexshard.yaml"), {});
  const ExplainedCase explained = explained_case(scenario, case_of(scenario, "rm1/row_wise"), true, {});
  for (const Elasticity& each : explained.help->elasticities) {
    CAPTURE(each.name);
    CHECK(each.percent > -1e-9);
    CHECK(each.percent < 1.02);
  }
  for (const Supposed& each : explained.help->supposed) CHECK(each.shorter_pct > -1e-9);
}

TEST_CASE("tables and parts of a Why add up") {
  const Scenario scenario = read_scenario(shipped_path("mixed.yaml"), {});
  for (const Case& item : scenario.cases) {
    const Why why = explained_case(scenario, item, false, {}).why;
    CAPTURE(item.name);
    CHECK(off(why.sum_ms(), why.iteration_ms) < kSame);
    double tables = 0;
    for (const TablePart& part : why.tables) {
      CHECK(off(part.lookup_ms + part.exchange_ms + part.update_ms + part.other_ms, part.ms) < kSame);
      tables += part.ms;
    }
    CHECK(tables <= why.iteration_ms * (1 + kSame));
    CHECK(why.sentence.starts_with("The iteration takes "));
  }
}

// Rows behind the host link: in host memory, in a cache that misses them, or stashed.
constexpr const char* kHostRows = R"(schema: shardsim.scenario/1
cluster: {base: dgx_h100, nodes: 1, gpu: {count: 2}}
planner: {name: torchrec}
workload:
  name: w
  batch_per_gpu: 512
  pipeline: sparse_dist
  dense: {layers: [{name: bottom_0, in: 64, out: 64}, {name: over, in: 320, out: 64}]}
  tables: [{name: t, rows: 1000000, dim: 64, kind: pooled, pooling_factor: 20, access: {family: zipf, s: 0.8}, copies: 4}]
cases:
  - {name: uvm, constraints: {"*": {compute_kernels: [fused_uvm], sharding_types: [table_wise]}}}
  - {name: cached, constraints: {"*": {compute_kernels: [fused_uvm_caching], sharding_types: [table_wise], cache_load_factor: 0.02}}}
  - {name: ssd, constraints: {"*": {compute_kernels: [key_value], sharding_types: [table_wise], cache_load_factor: 0.02}}}
  - {name: hbm}
)";

TEST_CASE("what goes over the host link is named as what it is, and the link is a lever") {
  const Scenario scenario = test::read(kHostRows);
  const Scenario of_stash = test::read(kHostRows, test::set("workload.stash", "{restore_at: over}", "hbm"));
  const auto of = [&](const std::string& name, bool with_help) {
    return explained_case(scenario, case_of(scenario, name), with_help, {});
  };
  const auto over_link = [](const Why& why, const std::string& operation) {
    const auto part = std::ranges::find(why.parts, operation, &PathPart::operation);
    return part != why.parts.end() && part->over == "the host link (PCIe)";
  };
  const Why cached = of("cached", false).why,
            stashed = explained_case(of_stash, case_of(of_stash, "hbm"), false, {}).why;
  CHECK(says(cached.sentence, "is fetching rows that caches miss, and writing others back over the host link"));
  CHECK(over_link(cached, "cache_prefetch"));
  CHECK(says(stashed.sentence, "is moving stashed rows to host memory and back over the host link"));
  CHECK(over_link(stashed, "restore_rows"));
  const ExplainedCase uvm = of("uvm", true), hbm = of("hbm", true);
  CHECK(over_link(uvm.why, "lookup_table_wise"));
  REQUIRE(uvm.help);
  const auto lever = std::ranges::find(uvm.help->elasticities, "host_link", &Elasticity::lever);
  REQUIRE(lever != uvm.help->elasticities.end());
  CHECK(lever->percent > 0.3);
  // The next PCIe generation, which doubles the link, is simulated as `--set` would.
  const auto faster = std::ranges::find(uvm.help->supposed, "faster_pcie", &Supposed::key);
  REQUIRE(faster != uvm.help->supposed.end());
  const Scenario set = test::read(kHostRows, test::set("cluster.pcie.generation", "6"));
  const Case& item = case_of(set, "uvm");
  CHECK(off(explained_case(set, item, false, {}).why.iteration_ms, faster->iteration_ms) < kSame);
  CHECK(std::ranges::find(hbm.help->elasticities, "host_link", &Elasticity::lever) == hbm.help->elasticities.end());
}

TEST_CASE("rows that come from SSDs are named as what they are, and the rate of the SSDs is a lever") {
  const Scenario scenario = test::read(kHostRows);
  const auto of = [&](const std::string& name) { return explained_case(scenario, case_of(scenario, name), true, {}); };
  const ExplainedCase ssd = of("ssd"), cached = of("cached");
  CHECK(says(ssd.why.sentence, "is fetching rows from key-value stores over the SSDs of its node"));
  const auto lever = [](const ExplainedCase& each) {
    const auto found = std::ranges::find(each.help->elasticities, "ssd", &Elasticity::lever);
    return found == each.help->elasticities.end() ? nullptr : &*found;
  };
  REQUIRE(lever(ssd) != nullptr);
  CHECK(lever(ssd)->percent > 0.3);
  CHECK(lever(cached) == nullptr);
}

// Two exchanges of one name, of which the sequences' keep the rank with their hottest rows.
constexpr const char* kSharedName = R"(schema: shardsim.scenario/1
cluster: {base: dgx_h100, nodes: 2}
planner: {name: torchrec}
constraints: {rare: {sharding_types: [table_wise]}, clicks: {sharding_types: [row_wise]}}
workload:
  name: w
  batch_per_gpu: 512
  tables:
    - {name: rare, rows: 100000, dim: 64, kind: pooled, pooling_factor: 2}
    - {name: clicks, rows: 1000000, dim: 128, kind: sequence, average_length: 60, access: {family: zipf, s: 1.2}}
)";

TEST_CASE("where GPUs exchange over PCIe its rate is a lever, and free PCIe a supposition") {
  const auto of = [](const std::string& cluster) {
    const Scenario scenario = test::read(kSharedName, test::set("cluster", cluster));
    return explained_case(scenario, scenario.cases.front(), true, {});
  };
  const auto lever = [](const ExplainedCase& each) {
    const auto found = std::ranges::find(each.help->elasticities, "pcie", &Elasticity::lever);
    return found == each.help->elasticities.end() ? nullptr : &*found;
  };
  const ExplainedCase pcie = of("pcie_l40s_8x"), nvlink = of("dgx_h100");
  REQUIRE(lever(pcie) != nullptr);
  CHECK(lever(pcie)->percent > 0.3);
  CHECK(lever(pcie)->percent < 1);
  const auto free = std::ranges::find(pcie.help->supposed, "free_pcie", &Supposed::key);
  REQUIRE(free != pcie.help->supposed.end());
  CHECK(free->shorter_pct > 10 * lever(pcie)->percent);
  CHECK(lever(nvlink) == nullptr);
  CHECK(std::ranges::find(nvlink.help->supposed, "free_pcie", &Supposed::key) == nvlink.help->supposed.end());
}

TEST_CASE("who waits for a rank waits for its own tables, and for no more than the part that is told for it") {
  const Scenario scenario = test::read(kSharedName);
  const Why why = explained_case(scenario, scenario.cases.front(), false, {}).why;
  CAPTURE(why.sentence);
  const CollectivePart* const waiting = longest_waiting(why);
  REQUIRE(waiting != nullptr);
  CHECK(waiting->operation == "global_all_to_all");
  CHECK(waiting->waited_on == "global_all_to_all");
  CHECK(waiting->table == "clicks");
  CHECK(waiting->waited_ms > 0);
  CHECK(waiting->waited_ms <= waiting->waiting_ms * (1 + kSame));
  CHECK(says(why.sentence, fmt::format("in {:.3f} ms of it the mean rank waits for rank {}, which is longest in "
                                       "the previous global_all_to_all (mostly table clicks).",
                                       waiting->waited_ms, waiting->rank)));
}

}  // namespace shardsim::why_test
