#include <doctest/doctest.h>

#include "base/rng.h"
#include "program/timeline/arrivals.h"

namespace shardsim::rank_spans_test {

TEST_CASE("the spans of a rank are those of its number, in the order in which they are") {
  Rng random(3);
  Timeline timeline;
  timeline.world_size = 7;
  for (int i = 0; i < 500; ++i) timeline.spans.push_back({.rank = static_cast<int>(random.below(5))});
  const RankSpans spans(timeline);
  for (int rank = 0; rank < timeline.world_size; ++rank) {
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < 500; ++i)
      if (timeline.spans[i].rank == rank) expected.push_back(i);
    const auto own = spans.of(rank);
    CHECK(std::vector<std::uint32_t>(own.begin(), own.end()) == expected);
  }
}

}  // namespace shardsim::rank_spans_test
