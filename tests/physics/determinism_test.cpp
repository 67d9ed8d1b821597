#include <doctest/doctest.h>

#include "tests/physics/lab.h"

namespace shardsim::determinism_test {

using namespace shardsim::physics;

TEST_CASE("the same Program gives the same Timeline to the last bit") {
  const Cluster cluster(cluster_spec("a100_mesh_4x8.yaml"));
  for (const std::string planner : {"{name: row_wise}", "{name: flexshard_3tier}", "{name: table_wise}"}) {
    CAPTURE(planner);
    const Program program = lowered(planner, shipped_workload("rm1.yaml"), cluster);
    const Program again = lowered(planner, shipped_workload("rm1.yaml"), cluster);
    CHECK(program == again);
    CHECK(simulated(program, cluster) == simulated(again, cluster));
  }
}

TEST_CASE("the number of worker processes changes nothing") {
  const Scenario scenario = read_scenario(shipped_path("toy.yaml"), {});
  const StudyResult one = run_study(scenario, {1, {}, {}});
  const StudyResult three = run_study(scenario, {3, {}, {}});
  REQUIRE(one.cases.size() == three.cases.size());
  for (std::size_t index = 0; index < one.cases.size(); ++index) {
    CHECK(one.cases[index].name == three.cases[index].name);
    CHECK(one.cases[index].timeline == three.cases[index].timeline);
    CHECK(one.cases[index].limit == three.cases[index].limit);
  }
}

}  // namespace shardsim::determinism_test
