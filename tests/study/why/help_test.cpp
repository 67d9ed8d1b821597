#include "study/why/help.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/study/scenario_text.h"

namespace shardsim::help_test {

using namespace shardsim::test;

TEST_CASE("a lever that makes the iteration longer where it is better stands last, with the reason") {
  const Scenario scenario = read(
      "schema: shardsim.scenario/1\ncluster: {base: dgx_h100, nodes: 2}\nworkload: toy_history\nplanner: {name: "
      "row_wise}\n"
      "software: torchrec_eager\n");
  const Case& item = scenario.cases.front();
  Why why;
  why.iteration_ms = 10;
  const auto simulate = [&](const ChangedCase& changed) {
    const double factor = changed.item.cluster.host.time_factor;
    if (factor != item.cluster.host.time_factor) return Resimulated{factor < 1 ? 10.2 : 14.0, {}};
    const double rate = changed.item.cluster.nics->rate.bytes_per_second,
                 as_it_is = item.cluster.nics->rate.bytes_per_second;
    return Resimulated{rate > as_it_is ? 9.9 : rate < as_it_is ? 10.1 : 10, {}};
  };
  const Help help = help_for(item, why, simulate, 0);
  REQUIRE(help.elasticities.size() > 2);
  CHECK(help.elasticities.front().lever == "nics");  // although the host has more per cent per per cent
  CHECK(help.elasticities.back().lever == "host");
  const auto says = [](const std::string& remark) {
    return remark.find("the iteration is 2 % longer") != std::string::npos;
  };
  CHECK(std::ranges::any_of(help.remarks, says));
}

TEST_CASE("levers stand by what improving them brings, and one that costs only where it is worse is a step") {
  const Scenario scenario = read(
      "schema: shardsim.scenario/1\ncluster: {base: dgx_h100, nodes: 2}\nworkload: toy_history\nplanner: {name: "
      "row_wise}\n");
  const Case& item = scenario.cases.front();
  Why why;
  why.iteration_ms = 10;
  const auto rate = [](const ChangedCase& changed) { return changed.item.cluster.nvlink.per_link_effective; };
  const auto simulate = [&](const ChangedCase& changed) {
    if (rate(changed) < item.cluster.nvlink.per_link_effective) return Resimulated{12.1, {}};
    const double nics = changed.item.cluster.nics->rate.bytes_per_second / item.cluster.nics->rate.bytes_per_second;
    return Resimulated{nics > 1 ? 9.9 : nics < 1 ? 10.1 : 10, {}};
  };
  const Help help = help_for(item, why, simulate, 0);
  CHECK(help.elasticities.front().lever == "nics");
  CHECK_FALSE(help.elasticities.front().is_uneven());
  const auto nvlink = std::ranges::find(help.elasticities, "nvlink", &Elasticity::lever);
  REQUIRE(nvlink != help.elasticities.end());
  CHECK(nvlink->is_uneven());
  CHECK(nvlink->percent == 0);  // although 10 % worse costs 21 %
  const auto remark =
      std::ranges::find_if(help.remarks, [](const std::string& each) { return each.starts_with("A batch that is "); });
  REQUIRE(remark != help.remarks.end());
  CHECK(remark->find("makes iterations no shorter, so") != std::string::npos);
}

TEST_CASE("products in TF32 are supposed where those of the dense part are fp32 and the GPU has a faster rate") {
  const auto supposes = [](const std::string& cluster, const std::string& precision) {
    const Scenario scenario = read("schema: shardsim.scenario/1\ncluster: {base: " + cluster +
                                   ", nodes: 2}\nworkload: {base: toy_history, dense: {" + precision +
                                   "layers: [{name: top_0, in: 64, out: 64}]}}\nplanner: {name: row_wise}\n");
    const Case& item = scenario.cases.front();
    Why why;
    why.iteration_ms = 10;
    const auto simulate = [&](const ChangedCase& changed) {
      return Resimulated{changed.item.workload.dense.precision == "tf32" ? 7.0 : 10.0, {}};
    };
    const Help help = help_for(item, why, simulate, 0);
    const bool supposed = std::ranges::find(help.supposed, "tf32_products", &Supposed::key) != help.supposed.end();
    const auto says = [](const std::string& remark) { return remark.find("10 bits of mantissa") != std::string::npos; };
    CHECK(std::ranges::any_of(help.remarks, says) == supposed);
    return supposed;
  };
  CHECK(supposes("dgx_h100", ""));
  CHECK_FALSE(supposes("dgx_h100", "precision: bf16, "));
  CHECK_FALSE(supposes("dgx_h100", "precision: tf32, "));
  CHECK_FALSE(supposes("dgx1_v100", ""));
}

}  // namespace shardsim::help_test
