#include "program/timeline/arrivals.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/rng.h"

namespace shardsim::arrivals_test {

namespace {

// Two collectives over sets whose ranks lie side by side, or apart, each called several times in some iterations; spans
// as they come, or in order.
Timeline drawn_timeline(std::uint64_t seed, bool sorted) {
  Rng random(seed);
  Timeline timeline;
  timeline.world_size = 12;
  timeline.ranks_per_node = 4;
  timeline.iteration_ms = 0.1;
  timeline.streams = {"compute"};
  timeline.ops = {{"exchange", "all_to_all"}, {"sum", "all_reduce"}, {"dense", "dense"}};
  timeline.ops[0].group = "node";
  timeline.ops[1].group = "cross";
  timeline.groups["node"] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}};
  timeline.groups["cross"] = {{0, 4, 8}, {1, 5, 9}, {2, 6, 10}};  // the last ranks of the nodes are in none
  const int iterations = 1 + static_cast<int>(random.below(3)), calls = 1 + static_cast<int>(random.below(3));
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for (int call = 0; call < calls; ++call) {
      for (int rank = 0; rank < timeline.world_size; ++rank) {
        for (int op = 0; op < 3; ++op) {
          const double start = static_cast<double>(100 * iteration + 30 * call) + static_cast<double>(random.below(9));
          timeline.spans.push_back({start, start + 5, rank, 0, op, iteration, 0});
        }
      }
    }
  }
  if (sorted) sort_spans(timeline);
  return timeline;
}

// By the definition: the spans of an op on a rank in an iteration by their starts, the first with the first of the
// others of its set.
std::vector<std::size_t> last_of_each(const Timeline& timeline) {
  std::map<std::tuple<int, int, int>, std::vector<std::size_t>> of_rank;  // by op, iteration, rank
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Span& span = timeline.spans[i];
    of_rank[{span.op, span.iteration, span.rank}].push_back(i);
  }
  const auto start = [&](std::size_t i) { return timeline.spans[i].start_us; };
  for (auto& entry : of_rank) std::ranges::stable_sort(entry.second, {}, start);
  std::vector<std::size_t> last(timeline.spans.size());
  for (const auto& [key, own] : of_rank) {
    const auto& [op, iteration, rank] = key;
    const std::vector<int> members = group_of(timeline, timeline.ops[static_cast<std::size_t>(op)], rank);
    for (std::size_t turn = 0; turn < own.size(); ++turn) {
      std::size_t latest = own[turn];
      for (const int member : members) {
        const std::size_t other = of_rank.at({op, iteration, member})[turn];
        if (start(other) > start(latest) || (start(other) == start(latest) && member < timeline.spans[latest].rank))
          latest = other;
      }
      last[own[turn]] = start(latest) > start(own[turn]) ? latest : own[turn];
    }
  }
  return last;
}

}  // namespace

TEST_CASE("the last to arrive is found for any number of iterations and calls, in any order of spans") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const Timeline timeline = drawn_timeline(seed, seed % 2 == 0);
    const Arrivals arrivals(timeline);
    const std::vector<std::size_t> expected = last_of_each(timeline);
    for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(arrivals.last(i) == expected[i]);
  }
}

}  // namespace shardsim::arrivals_test
