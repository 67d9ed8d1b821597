#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "plan/column_shards/shard_costs.h"

namespace shardsim {

// Counts of the work of a search.
struct SearchCounts {
  std::int64_t searches = 0;     // lists of pieces for which the grid was tried
  std::int64_t passes = 0;       // of them, over the scales of the grid
  std::int64_t asked = 0;        // shards that got a piece, and whose seconds were wanted
  std::int64_t known = 0;        // of those, pieces of the same kinds that had been added in the same order before
  std::int64_t predictions = 0;  // seconds computed
};

struct GridOptions {
  int scales = 11;      // bounds tried on a rank's width: (1 + 0.05 i) times the mean; 0: none
  bool caching = true;  // keep the seconds of shards; off: predict each anew, for comparison
};

// Seconds of every shard met, by the kinds of its pieces in the order in which they came (NeuroShard's cache; Zha et
// al., MLSys 2023, section 3.3): a tree whose branches are kinds. No cache of a processor holds all of it. Most shards
// have one branch or none, which lies at their number: shards that one pass meets for the first time lie beside each
// other, as later passes ask for them. Their other branches are in one hash table.
class ShardMemory {
 public:
  static constexpr std::uint32_t kEmptyShard = 0, kUnknown = ~0U;
  static constexpr unsigned kShardBits = 21, kKindBits = 22;
  // A shard with one piece more than the one asked about.
  struct Grown {
    std::uint32_t shard = 0;
    double seconds = 0;
  };

  ShardMemory() : first_(1), others_(1U << 8U) {}
  std::optional<Grown> find(std::uint32_t shard, int kind) const;
  // Asks the processor for what find() will soon read of a shard.
  void fetch(std::uint32_t shard) const {
    if (shard != kUnknown) __builtin_prefetch(&first_[shard]);
  }
  // And then, where that has arrived, for what it will read of the kind.
  void fetch(std::uint32_t shard, int kind) const {
    if (shard != kUnknown && first_[shard].forks && first_[shard].kind != kind)
      __builtin_prefetch(&others_[first_place(key_of(shard, kind))]);
  }
  // The number of the shard from now on; kUnknown when there are too many shards or kinds.
  std::uint32_t keep(std::uint32_t shard, int kind, double seconds);

 private:
  struct First {
    int kind = -1;  // none
    std::uint32_t leads_to : 31 = 0;
    std::uint32_t forks : 1 = 0;  // others_ has more branches of the shard
    double seconds = 0;
  };
  struct Other {
    std::uint64_t branch = 0;  // shard before, kind; behind them the shard that it leads to; 0: free
    double seconds = 0;
    std::uint64_t key() const { return branch >> kShardBits; }
    std::uint32_t leads_to() const { return static_cast<std::uint32_t>(branch & ((1U << kShardBits) - 1)); }
  };

  static bool is_countable(int kind) { return kind < (1 << kKindBits) - 1; }
  static std::uint64_t key_of(std::uint32_t shard, int kind) {
    return (std::uint64_t{shard} << kKindBits) | (static_cast<std::uint64_t>(kind) + 1);
  }
  std::size_t first_place(std::uint64_t key) const {
    std::uint64_t mixed = key * 0x9e3779b97f4a7c15ULL;
    mixed ^= mixed >> 32U;
    return mixed & (others_.size() - 1);
  }
  std::size_t place_of(std::uint64_t key) const;
  void keep_other(std::uint64_t key, const Grown& grown);
  void make_room();

  std::vector<First> first_;   // [shard]
  std::vector<Other> others_;  // a power of two, at most half used; no entry is in two lines of a cache
  std::size_t other_count_ = 0;
};

// Pieces by falling predicted seconds, of equal ones the later one of their list first; flat, for the inner loops.
struct SortedPieces {
  std::vector<int> kinds;
  std::vector<double> bytes, widths;

  double total_width() const;
};

// NeuroShard's inner search (daochenzha/neuroshard neurosharder.py at ec7ca74): one pass gives each piece to the
// feasible rank whose shard has the fewest predicted seconds so far, of equal ones to that with the fewest bytes, then
// to the lowest. Feasible: the piece fits in the rank's capacity, and its width stays within a bound; the grid tries
// several.
class GreedyGrid {
 public:
  // `slowness`: by rank, what its predicted seconds are multiplied by.
  GreedyGrid(ShardCosts& costs, std::vector<double> slowness, const GridOptions& options);

  // Makes a pass for each scale, and calls `take(pass)` for each pass that placed every piece; rank_of() and
  // shard_seconds() then hold its plan. If several scales give the same plan, it is taken only once, for the smallest
  // of them.
  template <typename Take>
  void try_scales(const SortedPieces& pieces, double capacity, const Take& take) {
    ++counts_.searches;
    const double mean = pieces.total_width() / static_cast<double>(ranks());
    for (int i = 0; i < std::max(options_.scales, 1); ++i) {
      const double bound = options_.scales > 0 ? (1.0 + 0.05 * i) * mean : kNoBound;
      if (i == 0 || !options_.caching || bound >= next_bound_) {
        if (pass(pieces, capacity, bound, i > 0)) take();
      } else {
        repeat_pass();
      }
    }
  }

  // One pass outside the grid, without a bound on widths. With `overfull` a piece that fits nowhere goes to the rank
  // with the fewest bytes. False: it does not fit.
  bool unbounded_pass(const SortedPieces& pieces, double capacity);
  // By how many bytes the capacities of all ranks, and that of the fullest rank, are then exceeded.
  struct Overflow {
    double all = 0, fullest = 0;
  };
  Overflow overflow(const SortedPieces& pieces, double capacity);

  std::size_t ranks() const { return slowness_.size(); }
  std::span<const std::uint16_t> rank_of() const { return rank_of_; }       // by piece, sorted
  std::span<const double> shard_seconds() const { return shard_seconds_; }  // by rank
  const SearchCounts& counts() const { return counts_; }

 private:
  static constexpr double kNoBound = std::numeric_limits<double>::infinity();

  void start(std::size_t pieces);
  // `wider`: the last pass was over the same pieces, with a smaller bound.
  bool pass(const SortedPieces& pieces, double capacity, double bound, bool wider);
  bool place_all(const SortedPieces& pieces, double capacity, double bound, bool overfull);
  void repeat_pass();
  bool resume();
  // Places are those of `order_`.
  std::optional<std::size_t> feasible_place(double bytes, double width, double capacity, double bound);
  std::size_t emptiest_place() const;
  void reorder(std::size_t place);
  bool before(std::size_t a, std::size_t b) const;
  void fetch_next(const SortedPieces& pieces, std::size_t piece, std::size_t place) const;
  void assign(std::size_t rank, int kind, double bytes, double width);
  double grown(std::size_t rank, int kind);
  double predicted(std::size_t rank);

  ShardCosts& costs_;
  std::vector<double> slowness_;
  GridOptions options_;
  double empty_seconds_;
  ShardMemory memory_;
  SearchCounts counts_;

  // What a pass has placed so far, by rank.
  struct Shards {
    std::vector<double> seconds, bytes, widths;
    std::vector<std::uint16_t> order;  // the ranks, that of the fewest seconds first, as before() has them
    std::vector<std::uint32_t> number;
    std::vector<int> held;    // pieces of the shard
    std::int64_t placed = 0;  // pieces of all
  };
  Shards shards_;
  Shards before_bound_;                // as they were when the bound first kept a piece of the last pass from a rank
  std::vector<double> shard_seconds_;  // by rank
  std::vector<int> summed_;            // by rank: pieces that `costs_` has added up
  std::vector<int> members_;           // [rank][piece] kinds
  std::size_t pieces_ = 0;
  std::vector<std::uint16_t> rank_of_;
  double next_bound_ = kNoBound;  // the least at which a pass differs from this one
};

}  // namespace shardsim
