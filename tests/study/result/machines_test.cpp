#include <doctest/doctest.h>

#include <cmath>

#include "study/result/choices.h"
#include "study/result/result.h"
#include "tests/physics/lab.h"

namespace shardsim::machines_test {

namespace {

struct Sample {
  StudyResult study;
  Scenario scenario;

  void add(
      const std::string& name, const std::string& file, double ms,
      const std::function<void(ClusterSpec&)>& change = [](ClusterSpec&) {}) {
    Case item;
    item.name = name;
    item.cluster = physics::cluster_spec(file, 2);
    change(item.cluster);
    CaseResult result;
    result.name = name;
    result.workload = "mine";
    result.cluster = item.cluster.name;
    result.world_size = 16;
    result.batch_per_gpu = 64;
    result.iteration_ms = ms;
    result.samples_per_s = 16 * 64 / (ms * 1e-3);
    Interval interval;
    interval.setting.software = "none";
    interval.setting.cluster = result.cluster;
    interval.rest_scale = 0.1;
    interval.parts = {{"collective/rdma", ms, 0.2, false}};
    result.interval = interval;
    study.cases.push_back(std::move(result));
    scenario.cases.push_back(std::move(item));
  }
  std::vector<MachineOrder> orders() const { return machine_orders(study, scenario); }
};

}  // namespace

// H200 is told in one of its fast placements, and is slower than B200 in each of them.
TEST_CASE("machines stand by their average over placements, not by those that are told") {
  Sample sample;
  sample.add("h200", "dgx_h200.yaml", 22.14);
  sample.add("b200", "hgx_b200_8x400g.yaml", 22.27);
  const auto placed = [](CaseResult& item, const std::vector<double>& ms) {
    for (const double each : ms) item.placement_log_times.push_back(std::log(each / item.iteration_ms));
    item.interval->placements = item.placement_log_times;
  };
  placed(sample.study.cases[0], {23, 23.5, 22.14, 24});
  placed(sample.study.cases[1], {22.1, 22.27, 21.5, 23});
  const auto orders = sample.orders();
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].faster == "b200");
  CHECK(orders[0].chance > 0.5);
}

TEST_CASE("machines stand by their fastest cases, each with the chance that it is faster than the next one") {
  Sample sample;
  sample.add("h200", "dgx_h200.yaml", 10.06);
  sample.add("b200_slow", "hgx_b200_8x400g.yaml", 20);
  sample.add("b200", "hgx_b200_8x400g.yaml", 10);
  sample.add("a100", "dgx_a100_80gb.yaml", 40);
  const auto orders = sample.orders();
  REQUIRE(orders.size() == 2);
  CHECK(orders[0].faster == "b200");
  CHECK(orders[0].than == "h200");
  CHECK(orders[0].chance > 0.5);
  CHECK(orders[0].chance < 0.55);  // 0.6 % faster, and errors of a fifth
  CHECK(orders[1].than == "a100");
  CHECK(orders[1].chance > 0.95);
}

TEST_CASE("no chance is stated for the faster of two that has the slower hardware, nor within one machine") {
  Sample sample;
  sample.add("whole", "dgx_h200.yaml", 10.06);
  sample.add("broken", "dgx_h200.yaml", 10, [](ClusterSpec& spec) {
    spec.name = "broken";
    spec.faults = {{.node = 0, .gpu = {}, .nic = 0, .rate_factor = 0.5}};
  });
  CHECK(sample.orders().empty());
  Sample one;
  one.add("a", "dgx_h200.yaml", 10);
  one.add("b", "dgx_h200.yaml", 12);
  CHECK(one.orders().empty());
}

}  // namespace shardsim::machines_test
