#include <doctest/doctest.h>
#include <fmt/format.h>

#include <numeric>

#include "study/run/case_result.h"
#include "tests/physics/lab.h"

namespace shardsim::cross_check_test {

// Taking effects away, on real programs: what must hold of each step whatever the plan.

using namespace shardsim::physics;

namespace {

std::string scenario_text(const std::string& planner, const std::string& more = "") {
  return R"(schema: shardsim.scenario/1
cluster: {base: dgx_a100_80gb, nodes: 2}
workload:
  schema: shardsim.workload/1
  name: six
  batch_per_gpu: 512
  pipeline: sparse_dist
  tables:
    - {name: a, rows: 100000, dim: 256, kind: pooled, pooling_factor: 20}
    - {name: b, copies: 2, rows: 200000, dim: 128, kind: pooled, pooling_factor: 5}
    - {name: c, copies: 3, rows: 3000, dim: 64, kind: pooled, pooling_factor: 1}
  dense: {layers: [{name: bottom_0, in: 13, out: 128}, {name: top_0, in: 512, out: 256}]}
memory_model: {name: torchrec}
cross_check: {}
)" + planner +
         more;
}

StudyResult run(const std::string& planner, const std::string& more = "") {
  return run_study(scenario_from_text(scenario_text(planner, more), SHARDSIM_SOURCE_DIR "/scenarios/test.yaml", {}),
                   {});
}

// The networks move whole bytes: half a byte per transfer may be missing, on the slowest link 2e-11 s.
constexpr double kByteMs = 1e-6;

const char* const kRandom = "planner: {name: random}\ncases: [{name: random, repeat: 12}]\n";
const char* const kAlike = "cases: [{name: a}, {name: b}, {name: c}]\n";

}  // namespace

TEST_CASE("terms add up to simulated less estimated, for random plans") {
  const StudyResult study = run(kRandom);
  REQUIRE(study.cases.size() == 12);
  for (const CaseResult& item : study.cases) {
    CAPTURE(item.name);
    REQUIRE(item.torchrec);
    const EffectTimes& effects = item.torchrec->effects;
    const double total = std::accumulate(effects.begin(), effects.end(), 0.0);
    CHECK(off(item.torchrec->estimate.iteration_ms + total, item.iteration_ms) < 1e-9);
  }
  REQUIRE(study.cross_checks.size() == 1);
  CHECK(study.cross_checks[0].regret_pct >= 0);
}

TEST_CASE("every effect goes its way: contention, start-ups and waiting cost time, overlap saves it") {
  for (const CaseResult& item : run(kRandom).cases) {
    const RemovedEffects& removed = item.torchrec->removed;
    CAPTURE(item.name);
    CHECK(removed.uncontended <= item.iteration_ms * (1 + 1e-9) + kByteMs);
    CHECK(removed.uncontended == item.estimate_iteration_ms);
    CHECK(removed.serial >= removed.uncontended);
    CHECK(removed.without_starts < removed.serial);
    CHECK(removed.even.total() <= removed.without_starts * (1 + 1e-9));
  }
}

// Where all ranks do the same, nobody waits: the accounting must give what the engine gives.
TEST_CASE("with even loads an average rank works all the time") {
  for (const char* planner : {"row_wise", "data_parallel"}) {
    CAPTURE(planner);
    const StudyResult study = run(fmt::format("planner: {{name: {}}}\nload: {{row_shares: even}}\n", planner), kAlike);
    const RemovedEffects& removed = study.cases[0].torchrec->removed;
    CHECK(off(removed.even.total(), removed.without_starts) < 1e-6);
    CHECK(removed.even.lookups > 0);
    CHECK(removed.even.updates > 0);
    CHECK(removed.even.other > 0);
    const bool replicated = std::string(planner) == "data_parallel";
    CHECK((removed.even.all_reduce > 0) == replicated);
    CHECK((removed.even.reduce_scatter > 0) == !replicated);
    CHECK((removed.even.ids > 0) == !replicated);
    CHECK(removed.even.all_to_all == 0);
  }
}

TEST_CASE("everything on one rank: the others wait, and the estimate's busiest rank is theirs to set off") {
  const StudyResult study =
      run("planner: {name: random, sharding_types: [table_wise]}\n", "cases: [{name: one, repeat: 3}]\n");
  for (const CaseResult& item : study.cases) {
    CHECK(item.torchrec->removed.without_starts > 1.5 * item.torchrec->removed.even.total());
  }
}

TEST_CASE("without overlap or contention to take away both terms are 0") {
  const StudyResult study = run("planner: {name: row_wise}\noverlap: false\nnetwork: {name: closed_form}\n", kAlike);
  const EffectTimes& effects = study.cases[0].torchrec->effects;
  CHECK(effects[static_cast<std::size_t>(Effect::contention)] == 0);
  CHECK(effects[static_cast<std::size_t>(Effect::overlap)] == 0);
}

TEST_CASE("equal plans are no order: no correlation, no regret, nothing to explain") {
  const StudyResult study = run("planner: {name: row_wise}\n", kAlike);
  REQUIRE(study.cross_checks.size() == 1);
  CHECK(study.cross_checks[0].spearman == 0);
  CHECK(study.cross_checks[0].regret_pct == 0);
  CHECK(study.cross_checks[0].worst.empty());
}

TEST_CASE("TorchRec's own rates change the estimates and nothing else") {
  const StudyResult own = run(kRandom);
  const std::string text = scenario_text(kRandom);
  Overrides overrides;
  overrides.set = {{"cross_check.topology.rates", "torchrec"}};
  const StudyResult theirs =
      run_study(scenario_from_text(text, SHARDSIM_SOURCE_DIR "/scenarios/test.yaml", overrides), {});
  CHECK(own.cases[0].iteration_ms == theirs.cases[0].iteration_ms);
  CHECK(own.cases[0].torchrec->estimate.iteration_ms != theirs.cases[0].torchrec->estimate.iteration_ms);
}

}  // namespace shardsim::cross_check_test
