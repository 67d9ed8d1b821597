#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "models/load/load_options.h"
#include "models/load/row_shares.h"
#include "models/workload/workload.h"
#include "plan/plan.h"

namespace shardsim {

// How a placement's rows are cut: tiers and flex rows by a hash, other rows as the options say.
RowCut cut_of(const Placement& placement, const Table& table, const LoadOptions& options);

// The bags of a table whose first id decides the others; those of one id elsewhere.
FirstIdBags first_id_bags(const Table& table, const RowHash& hash);

// The hottest rows of a placement, and who owns them in each of the draws of sim/lower/row_draws.h.
class DrawnHead {
 public:
  // `rows` of them, at most those of `law`.
  DrawnHead(const RowLaw& law, std::uint64_t rows, int owners) : owners_(owners), excess_(excess(law, rows)) {}
  void add_draw(std::vector<std::int32_t> of_rows) { of_rows_.push_back(std::move(of_rows)); }

  // [owner] what draw 1, 2 ... brings it of the lookups of the placement, beyond an equal share; they add up to 0.
  std::vector<double> more_of(int draw) const;

 private:
  static std::vector<double> excess(const RowLaw& law, std::uint64_t rows);

  int owners_;
  std::vector<double> excess_;  // [row] its share of the lookups, beyond that of a row that is not among them
  std::vector<std::vector<std::int32_t>> of_rows_;  // [draw][row]
};

// The shares of the owners of placements of one workload, computed once each: placing the hottest rows takes some 15 ms
// a table, and planners lower the same tables again and again.
class KnownShares {
 public:
  // Of the owners of one set of holders of the placement: `placement.shards()` of them. `observed`: with the table's
  // `runtime`, where it has one.
  std::shared_ptr<const RowShares> of(const Placement& placement, const Table& table, RowCut cut, const RowHash& hash,
                                      bool observed);

  // The `rows` hottest rows of the placement, whose law is given, in all draws.
  std::shared_ptr<const DrawnHead> head(const Placement& placement, const Table& table, const RowLaw& law, RowCut cut,
                                        int tier, std::uint64_t rows);

  // As Table::distribution(), a copy for tables of one kind.
  AccessDistribution distribution(const Table& table);

 private:
  using Key = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t, int, RowCut, std::uint64_t, int, bool>;
  std::map<Key, std::shared_ptr<const RowShares>> known_;
  std::map<std::pair<Key, std::uint64_t>, std::shared_ptr<const DrawnHead>> heads_;  // by their rows
  std::shared_ptr<RowCurves> curves_ = std::make_shared<RowCurves>();

  // What tables of one kind have in common, of the last few kinds.
  struct Kind {
    AccessSpec access;
    double length = 0;  // of a sample, as stated
    AccessDistribution distribution;
  };
  std::deque<Kind> kinds_;
};

// Whether the result is the same as if every owner with rows had the same share of the lookups.
bool even(const RowShares& shares, const Placement& placement);

}  // namespace shardsim
