#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "models/load/batch_draws.h"
#include "plan/plan.h"
#include "program/program.h"
#include "sim/lower/dense/dense_work.h"
#include "sim/lower/lower.h"

namespace shardsim {

// Ids that each rank of the world sends to each owner of a placement, by position in a set of its holders; to owners of
// flex rows in the rank's own replica group. Replicated on all ranks they are one cell, which is the rank's own.
struct CellCounts {
  std::size_t cells = 0;
  std::vector<std::int64_t> counts;  // [rank][cell]

  CellCounts(int world, std::size_t owners) : cells(owners), counts(static_cast<std::size_t>(world) * owners, 0) {}
  std::int64_t at(int rank, std::size_t cell) const { return counts[static_cast<std::size_t>(rank) * cells + cell]; }
  std::int64_t sent(int rank) const;
};

// Different rows that the owners of a placement read, those of them that a cache misses, and those that are on an SSD,
// for whatever is drawn.
class DrawnRows {
 public:
  // `lookups` of each owner in an expected batch; `at` those lookups and `more` at kMoreIds times as many.
  struct Rows {
    std::vector<double> touched, missed, on_ssd;  // [owner]
  };
  DrawnRows(std::vector<double> lookups, Rows at, Rows more)
      : lookups_(std::move(lookups)), at_(std::move(at)), more_(std::move(more)) {}

  double touched(std::size_t owner, double lookups) const;
  double missed(std::size_t owner, double lookups) const;
  double on_ssd(std::size_t owner, double lookups) const;

 private:
  std::vector<double> lookups_;
  Rows at_, more_;
};

// One placement in one drawn batch.
struct DrawnPlacement {
  CellCounts ids, weights;  // that are exchanged; weights: of the ids that have one
  std::shared_ptr<const DrawnRows> rows;
  std::optional<CellCounts> with_duplicates = {};  // index_dedup: of which `ids` are the different ones of each rank

  // Ids as often as the batches have them.
  const CellCounts& occurrences() const { return with_duplicates ? *with_duplicates : ids; }
};

// The batches that all ranks meet in one iteration.
struct DrawnBatch {
  std::vector<DrawnPlacement> placements;  // [of the plan]
  std::vector<RankItems> items;            // [rank]
};

// Draws batches for one plan. A table's ids depend on the table, the seed of the load and the iteration alone; the
// owner of each id depends also on how the plan cuts the table, but not on the order of its placements.
class BatchMaker {
 public:
  // `expected`: the Program of expected batches. All must outlive it. Errors (Failure::input at the table): more than
  // 1,024 ranks, lengths that nothing can be drawn from.
  BatchMaker(const Plan& plan, const Workload& workload, const Program& expected, const LoweringOptions& options);

  DrawnBatch draw(std::int64_t iteration) const;

 private:
  // A part of a table's columns that all its ids are looked up in: placements by their first row.
  struct Block {
    std::vector<std::size_t> placements;
    std::vector<double> shares;  // of the cells: placement by placement, owner by owner
    bool operator==(const Block&) const = default;
  };
  struct DrawnTable {
    BatchDraws draws;
    std::vector<Block> blocks;
  };

  DrawnTable drawn_table(int index, const std::vector<std::vector<double>>& shares) const;
  void draw_table(int index, std::int64_t iteration, const std::vector<FactorSums>& factors, DrawnBatch& batch) const;
  void remove_duplicates(DrawnBatch& batch) const;
  std::vector<FactorSums> factors_of(std::int64_t iteration) const;

  const Plan& plan_;
  const Workload& workload_;
  LoweringOptions options_;
  int world_;
  std::vector<DrawnTable> tables_;
  std::vector<std::size_t> cells_;                           // [placement]
  std::vector<std::shared_ptr<const DrawnRows>> rows_;       // [placement]
  std::vector<std::shared_ptr<const DrawnRows>> different_;  // [placement] of one rank's ids; null: all are exchanged
};

// The Programs of drawn batches: operations, names, order and groups are those of the Program of expected batches,
// sizes are those of the iteration (docs/lowering.md, "Batches that vary"). Only where expected ids of a placement
// round to 0 has a drawn Program operations more, since some batch may have such ids. Shards say what they say of
// expected batches.
class DrawnPrograms {
 public:
  // `options.load` has the seed; whether it says `batches: drawn` does not matter. Plan, workload and cluster must
  // outlive it. Errors (Failure::input): as of lower(); more than 1,024 ranks; lengths that nothing can be drawn from.
  DrawnPrograms(const Plan& plan, const Workload& workload, const Cluster& cluster, const LoweringOptions& options);

  const Program& expected() const { return expected_; }

  // Returns the Program that iteration `iteration` (0 or more) executes. In a pipeline an operation that works for a
  // batch `batches_ahead` has the sizes of that one. Cheapest when asked in rising order: batches that later ones need,
  // too, are kept.
  Program at(std::int64_t iteration) const;

 private:
  const Program& of_batch(std::int64_t batch) const;

  const Plan& plan_;
  const Workload& workload_;
  const Cluster& cluster_;
  LoweringOptions options_;
  Program expected_;
  BatchMaker maker_;
  int ahead_ = 0;                                     // the most batches that an operation works ahead
  mutable std::map<std::int64_t, Program> by_batch_;  // lowered, from the batch that was last asked for on
};

}  // namespace shardsim
