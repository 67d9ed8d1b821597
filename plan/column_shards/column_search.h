#pragma once

#include <functional>
#include <vector>

#include "plan/column_shards/greedy_grid.h"
#include "plan/column_shards/piece_kinds.h"

namespace shardsim {

// A piece in a list: its kind, and the table that it is really of.
struct TablePiece {
  int kind = 0;
  std::uint32_t table = 0;
};

struct ColumnSearchOptions {
  int candidates = 10;  // N: how many of the largest pieces, and of the costliest, are halved
  int beam = 3;         // K: lists kept after a round
  int rounds = 10;      // L: halvings of a list at most
  // Equal pieces are candidates once; lists without a plan are tried without a bound on widths, and ordered by the
  // bytes that do not fit. Off: the published code's rules.
  bool extended = true;
  GridOptions grid;
};

// A list of pieces and the best plan that was found for it.
struct PieceList {
  std::vector<TablePiece> pieces;
  std::vector<std::uint32_t> order;    // places in `pieces`, as they are dealt to the ranks
  std::vector<std::uint16_t> rank_of;  // by piece; empty where no plan was found
  double seconds = std::numeric_limits<double>::infinity();
  GreedyGrid::Overflow over;
};

// NeuroShard's outer search (Zha et al., MLSys 2023, algorithm 1; daochenzha/neuroshard neurosharder.py at ec7ca74): a
// beam over halvings of columns. In each round every kept list gives a child for each of its candidates, that piece
// halved in place and its other half appended; each child's plan is that of the greedy grid, and the cheapest children
// are kept. The list as it was given is a plan too.
class ColumnSearch {
 public:
  // `memory`: bytes of a rank. All that is referred to outlives the search.
  ColumnSearch(PieceKinds& kinds, ShardCosts& shard_costs, PlanCosts& plan_costs, std::vector<double> slowness,
               double memory, const ColumnSearchOptions& options);

  // The cheapest list of all rounds; of equal ones the first. `check_stop` is called now and then and may throw.
  PieceList best(std::vector<TablePiece> pieces, const std::function<void()>& check_stop);
  const SearchCounts& counts() const { return grid_.counts(); }

 private:
  // A plan of a list, still without its seconds.
  struct Sharded {
    std::size_t list = 0;
    std::size_t ranks = 0, seconds = 0;  // where they begin in `rank_pool_` and `seconds_pool_`
  };

  PieceList first_list(std::vector<TablePiece> pieces) const;
  PieceList child_of(const PieceList& parent, std::uint32_t halved);
  std::vector<std::uint32_t> candidates(const PieceList& list) const;
  std::vector<std::uint32_t> by_bytes(const PieceList& list) const;
  void pick(const std::vector<std::uint32_t>& from, const PieceList& list, std::vector<std::uint32_t>& picked) const;
  std::vector<PieceList> children_of(const std::vector<PieceList>& kept);

  void evaluate(std::vector<PieceList>& lists, const std::function<void()>& check_stop);
  void shard(const PieceList& list);
  void deal(std::size_t index, PieceList& list);
  void keep_plan(std::size_t list);
  void judge(std::vector<PieceList>& lists);
  void judge_batch(std::size_t begin, std::size_t end, std::vector<PieceList>& lists);
  void note_judged(double seconds);
  double limit_for(const PieceList& list) const;

  bool costs_less(std::uint32_t a, std::uint32_t b, const PieceList& list) const;

  PieceKinds& kinds_;
  PlanCosts& plan_costs_;
  GreedyGrid grid_;
  double memory_;
  ColumnSearchOptions options_;

  SortedPieces sorted_;                       // of the list that is dealt
  double capacity_ = 0;                       // what its pieces leave of a rank's memory for those that the rank owns
  std::vector<std::vector<int>> list_kinds_;  // [list of the round][piece, sorted]
  std::vector<Sharded> sharded_;
  std::vector<std::uint16_t> rank_pool_;
  std::vector<double> seconds_pool_;
  std::vector<std::size_t> chosen_;  // by list: its best plan in `sharded_`
  std::vector<double> best_done_;    // seconds of the best `beam` lists that are judged, rising
};

}  // namespace shardsim
