#include <doctest/doctest.h>

#include "validate/execute/meet/failure_cause.h"

namespace shardsim::rank_list_test {

TEST_CASE("ranks in words") {
  CHECK(rank_list({3}) == "rank 3");
  CHECK(rank_list({1, 2}) == "ranks 1 and 2");
  CHECK(rank_list({1, 2, 5}) == "ranks 1, 2 and 5");
  CHECK(rank_list({0, 1, 2, 3, 7, 9}) == "ranks 0 to 3, 7 and 9");
  CHECK(rank_list({4, 6, 7, 8}) == "ranks 4 and 6 to 8");
}

}  // namespace shardsim::rank_list_test
