#include <doctest/doctest.h>

#include "study/notes/slower_hardware.h"

namespace shardsim::alike_clusters_test {

TEST_CASE("clusters that differ in what the model does not distinguish are said not to be told apart") {
  const TimeOnCluster infiniband{"h100", "infiniband", "mine\n64", 12.35}, roce{"h100_roce", "roce", "mine\n64", 12.35};
  const auto said = alike_clusters({infiniband, roce, infiniband, roce});
  REQUIRE(said.size() == 1);
  CHECK(said[0] ==
        "Not told apart: 'h100' and 'h100_roce' come out alike to the last digit, for the model times InfiniBand and "
        "RoCE with the same constants and nothing else tells them apart. Which of them is really faster is not known.");
}

TEST_CASE("clusters whose hosts set the time are said to be hidden behind them") {
  const TimeOnCluster h100{"h100", "none", "mine\n8", 4.244, true}, b200{"b200", "none", "mine\n8", 4.244, true};
  const auto said = alike_clusters({h100, b200});
  REQUIRE(said.size() == 1);
  CHECK(said[0].starts_with("'h100' and 'b200' come out alike to the last digit, for the host sets the time on both"));
  CHECK(said[0].find("Not told apart") == std::string::npos);
}

TEST_CASE("one cluster twice, another time and another question are no pair") {
  const TimeOnCluster one{"h100", "infiniband", "mine\n64", 12.35};
  TimeOnCluster slower{"h100_roce", "roce", "mine\n64", 12.36}, other{"h100_roce", "roce", "mine\n32", 12.35};
  CHECK(alike_clusters({one, one, slower, other}).empty());
}

}  // namespace shardsim::alike_clusters_test
