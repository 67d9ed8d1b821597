#include "plan/column_shards/greedy_grid.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/rng.h"
#include "tests/plan/column_shards/hand_costs.h"

namespace shardsim::greedy_grid_test {
namespace {

// Kinds 0, 1, ... of those seconds, each with its own bytes and widths.
struct Hand {
  Hand(int ranks, const std::vector<double>& seconds_of_kinds, bool caching = true, int scales = 0)
      : costs(ranks, [this](const Placement& piece) { return seconds[static_cast<std::size_t>(piece.table)]; }),
        seconds(seconds_of_kinds),
        grid(costs, std::vector<double>(static_cast<std::size_t>(ranks), 1.0), {scales, caching}) {
    Placement piece;
    for (; static_cast<std::size_t>(piece.table) < seconds.size(); ++piece.table) costs.learn(piece);
  }

  std::vector<std::vector<int>> plans(const SortedPieces& pieces, double capacity) {
    std::vector<std::vector<int>> found;
    grid.try_scales(pieces, capacity, [&] { found.emplace_back(grid.rank_of().begin(), grid.rank_of().end()); });
    return found;
  }

  HandShards costs;
  std::vector<double> seconds;
  GreedyGrid grid;
};

}  // namespace

// By the rules of learned_sharding: the fewest seconds so far; of equal ones the fewest bytes; then the lowest rank.
TEST_CASE("a piece goes to the rank with the fewest seconds, then the fewest bytes, then the lowest") {
  Hand hand(3, {5, 5, 3, 2, 1});
  // 0 to rank 0 (all equal), 1 to rank 1 (fewest seconds), 2 to rank 2, 3 to rank 2 (3 s), then all have 5 s: rank 1
  // has the fewest bytes.
  const auto plans = hand.plans({{0, 1, 2, 3, 4}, {30, 10, 10, 10, 1}, {1, 1, 1, 1, 1}}, 1e9);
  REQUIRE(plans.size() == 1);
  CHECK(plans[0] == std::vector<int>{0, 1, 2, 2, 1});
  CHECK(hand.grid.shard_seconds()[1] == 6);
}

TEST_CASE("memory counts up to the last byte, and a piece that fits nowhere ends the pass") {
  Hand hand(2, {3, 2, 1});
  const SortedPieces pieces{{0, 1, 2}, {50, 60, 40}, {1, 1, 1}};
  CHECK(hand.plans(pieces, 100) == std::vector<std::vector<int>>{{0, 1, 1}});  // 40 + 60 is 100
  CHECK(hand.plans(pieces, 99) == std::vector<std::vector<int>>{{0, 1, 0}});
  CHECK(hand.plans(pieces, 89).empty());
  CHECK(hand.grid.overflow(pieces, 89).all == doctest::Approx(1));  // 50 + 40, and 60
  CHECK(hand.grid.overflow(pieces, 10).all == doctest::Approx(80 + 50));
  CHECK(hand.grid.overflow(pieces, 10).fullest == doctest::Approx(80));
}

TEST_CASE("the grid bounds the width of a rank, from the mean on in steps of a twentieth") {
  Hand hand(2, {3, 2, 1}, false, 11);
  // Widths 20 + 6 + 4, mean 15: rank 0 has 20, which only 1.35 x 15 = 20.25 allows, and so on to 1.5.
  const SortedPieces pieces{{0, 1, 2}, {1, 1, 1}, {20, 6, 4}};
  CHECK(hand.plans(pieces, 1e9) == std::vector<std::vector<int>>(4, {0, 1, 1}));
  CHECK(hand.grid.counts().passes == 11);
}

TEST_CASE("an empty rank costs what the costs say of it") {
  class Offset final : public ShardCosts {
   public:
    void learn(const Placement&) override {}
    void clear(int) override { pieces_ = 0; }
    void add(int, int) override { ++pieces_; }
    double seconds(int) override { return 0.25 + pieces_; }

   private:
    int pieces_ = 0;
  } costs;
  GreedyGrid grid(costs, {1, 1}, {0, true});
  CHECK(grid.unbounded_pass({{0}, {1}, {1}}, 10));
  CHECK(grid.shard_seconds()[0] == 1.25);
  CHECK(grid.shard_seconds()[1] == 0.25);
}

// Passes that cannot differ are not made again with the cache; without it every pass is.
TEST_CASE("with the cache and without it the grid finds the same plans, with fewer predictions") {
  Rng rng(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> seconds;
    for (int kind = 0; kind < 12; ++kind) seconds.push_back(rng.uniform());
    std::ranges::sort(seconds, std::greater<>());
    Hand cached(4, seconds, true, 11), plain(4, seconds, false, 11);
    for (int list = 0; list < 5; ++list) {
      SortedPieces pieces;
      for (int kind = 0; kind < 12; ++kind) {
        for (std::uint64_t copies = rng.below(4); copies > 0; --copies) {
          pieces.kinds.push_back(kind);
          pieces.bytes.push_back(1 + static_cast<double>(rng.below(20)));
          pieces.widths.push_back(static_cast<double>(4 << rng.below(5)));
        }
      }
      std::vector<std::vector<int>> all = plain.plans(pieces, 60);
      all.erase(std::unique(all.begin(), all.end()), all.end());
      std::vector<std::vector<int>> some = cached.plans(pieces, 60);
      some.erase(std::unique(some.begin(), some.end()), some.end());
      CHECK(some == all);
    }
    CHECK(cached.grid.counts().passes == plain.grid.counts().passes);
    CHECK(cached.grid.counts().asked == plain.grid.counts().asked);
    CHECK(cached.grid.counts().known + cached.grid.counts().predictions == cached.grid.counts().asked);
    CHECK(plain.grid.counts().predictions == plain.grid.counts().asked);
    CHECK(cached.grid.counts().predictions < plain.grid.counts().predictions);
  }
}

// "The key is the ids in the order of assignment": a shard of the same pieces in another order is a new one.
TEST_CASE("the cache tells orders of pieces apart") {
  ShardMemory memory;
  const std::uint32_t a = memory.keep(ShardMemory::kEmptyShard, 0, 1.0);
  const std::uint32_t ab = memory.keep(a, 1, 2.0);
  const std::uint32_t b = memory.keep(ShardMemory::kEmptyShard, 1, 3.0);
  CHECK(!memory.find(b, 0));
  REQUIRE(memory.find(a, 1));
  CHECK(memory.find(a, 1)->shard == ab);
  CHECK(memory.find(a, 1)->seconds == 2.0);
  for (int kind = 0; kind < 20'000; ++kind) memory.keep(ab, kind, kind);
  for (int kind = 0; kind < 20'000; ++kind) CHECK(memory.find(ab, kind)->seconds == kind);
  CHECK(!memory.find(ab, 20'000));
  CHECK(memory.find(ShardMemory::kEmptyShard, 1)->shard == b);
  constexpr int kBeyond = (1 << ShardMemory::kKindBits) - 1;  // no entry has room for such a kind
  CHECK(memory.keep(b, kBeyond, 4.0) == ShardMemory::kUnknown);
  CHECK(!memory.find(b, kBeyond));
}

}  // namespace shardsim::greedy_grid_test
