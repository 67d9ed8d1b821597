#include "study/confidence/iteration_judge.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "models/compute/learned_model.h"
#include "study/planning/prepared_case.h"
#include "study/run/case_result.h"
#include "tests/study/scenario_text.h"

namespace shardsim::iteration_parts_test {

namespace {

// On 64 H100, where some ranks have more to look up and to exchange than others, which wait for them.
const std::string kSkewed = R"(schema: shardsim.scenario/1
title: Skewed
cluster: {base: dgx_h100, nodes: 8}
workload: mlperf_dcnv2
compute_model: {name: gpu_kernels}
software: hugectr_ebc
cases:
  - {name: row_wise, planner: {name: row_wise}, set: {workload.batch_per_gpu: 2112}}
  - {name: table_wise, planner: {name: table_wise}, set: {workload.batch_per_gpu: 2112}}
)";

constexpr double kRounding = 1 + 1e-9;

struct Judged {
  CaseResult result;
  std::vector<IterationPart> parts;

  double ms_of(std::string_view error_class) const {
    double ms = 0;
    for (const IterationPart& part : parts)
      if (part.error_class.starts_with(error_class)) ms += part.ms;
    return ms;
  }
  double work_ms(std::string_view op_class) const {
    double ms = 0;
    for (const NamedTime& time : result.times)
      if (time.op_class == op_class) ms += time.span_ms;
    return ms;
  }
};

std::vector<Judged> judged_cases(const std::string& yaml) {
  const Scenario scenario = test::read(yaml);
  std::vector<Judged> judged;
  for (const Case& item : scenario.cases) {
    const Cluster cluster = cluster_of(item);
    const PreparedCase prepared(scenario, item, cluster, make_plan(item, cluster, scenario.seed, {}));
    Judged each{simulated_case(prepared, false), {}};
    REQUIRE(!each.result.path.empty());
    each.parts = parts_of(item, each.result.iteration_ms, each.result.timeline, each.result.path, shipped_gpu_table());
    judged.push_back(std::move(each));
  }
  return judged;
}

// On one H100, a table whose columns the shipped nets have seen or not.
std::vector<IterationPart> learned_parts(int columns) {
  const Scenario scenario = test::read(R"(schema: shardsim.scenario/1
title: Learned
cluster: {base: dgx_h100, nodes: 1, gpu: {count: 1}}
compute_model: {name: learned}
planner: {name: row_wise}
cases:
  - name: one
    workload:
      name: one
      batch_per_gpu: 16384
      optimizer: {name: rowwise_adagrad}
      tables: [{name: t, rows: 1000000, dim: )" +
                                       std::to_string(columns) +
                                       R"(, kind: pooled, pooling_factor: 20, access: {family: zipf, s: 1}}]
)");
  return parts_of(scenario.cases.front(), 3, Timeline{}, {{"a", "lookup", 1}, {"b", "update", 1}, {"c", "dense", 1}},
                  shipped_gpu_table());
}

}  // namespace

TEST_CASE("calls over foreign networks are told apart by size first, as each network has few systems") {
  CHECK(collective_error_class("all_reduce", true, "tcp", 1 << 20) ==
        "foreign_collective/1 MiB to 64 MiB/tcp/all_reduce");
  CHECK(collective_error_class("all_reduce", true, "roce", 1 << 20) == "collective/rdma/1 MiB to 64 MiB/all_reduce");
  CHECK(collective_error_class("all_reduce", false, "tcp", 100) == "collective/in_node/below 64 KiB/all_reduce");
}

TEST_CASE("learned lookups and updates have the error of the labels held back, and are guesses beyond the labels") {
  const LearnedEvidence& evidence = shipped_costs()->evidence();
  const std::vector<IterationPart> parts = learned_parts(64);
  CHECK(parts[0].error_class == "nets/lookup");  // not those of the laws
  CHECK(parts[0].own_scale == evidence.forward.scale);
  CHECK(parts[1].own_scale == evidence.backward.scale);
  CHECK_FALSE(parts[2].own_scale);
  CHECK_FALSE(parts[0].guessed);
  const std::vector<IterationPart> beyond = learned_parts(1024);
  CHECK(beyond[0].error_class == "kernel/lookup");
  CHECK_FALSE(beyond[0].own_scale);
  CHECK(beyond[0].guessed);
  CHECK(beyond[1].guessed);
}

TEST_CASE("where ranks wait for others, no kernel gets more of the iteration than it works") {
  for (const Judged& each : judged_cases(kSkewed)) {
    CAPTURE(each.result.name);
    CHECK(each.ms_of("") == doctest::Approx(each.result.iteration_ms));
    CHECK(each.ms_of("kernel/product") <= each.work_ms("dense") * kRounding);
    CHECK(each.ms_of("kernel/lookup") <= each.work_ms("lookup") * kRounding);
    CHECK(each.ms_of("kernel/update") <= each.work_ms("update") * kRounding);
    CHECK(each.ms_of("collective/rdma") > 0);
  }
}

TEST_CASE("what of a path is no operation is spread over what it waits for, and an unknown path is of all kernels") {
  const Scenario scenario = test::read(kSkewed);
  const Case& item = scenario.cases.front();
  const Timeline timeline;
  const GpuTable gpus = shipped_gpu_table();
  const auto parts = parts_of(item, 12, timeline, {{"mlp", "dense", 3}, {"launch", "host", 1}}, gpus);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].error_class == "kernel/product");
  CHECK(parts[0].ms == doctest::Approx(9));
  CHECK(parts[1].error_class == "host");
  CHECK(parts[1].ms == doctest::Approx(3));
  CHECK(parts_of(item, 12, timeline, {}, gpus) == std::vector<IterationPart>{{"kernel", 12, false, {}}});
}

}  // namespace shardsim::iteration_parts_test
