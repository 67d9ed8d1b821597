#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "models/access/row_reuse.h"
#include "models/load/load_options.h"
#include "models/load/row_shares.h"
#include "models/workload/workload.h"
#include "plan/plan.h"
#include "sim/lower/draws/hot_rows.h"

namespace shardsim {

// Returns how a placement's rows are cut: tiers and flex rows by a hash, other rows as the options say.
RowCut cut_of(const Placement& placement, const Table& table, const LoadOptions& options);

// The bags of a table whose first id decides the others; those of one id elsewhere.
FirstIdBags first_id_bags(const Table& table, const RowHash& hash);

// The shares of a table whose bags follow from their first id, of which `access` is the law: all rows as one owner has
// them.
RowShares one_owner(const Placement& placement, const Table& table, const AccessDistribution& access,
                    std::shared_ptr<RowCurves> curves = nullptr);

// The shares of the owners of placements of one workload, computed once each: placing the hottest rows takes some 15 ms
// a table, and planners lower the same tables again and again.
class KnownShares {
 public:
  // Are those of draws that are tried (RowDraws::tried()) are kept, too. Whoever simulates one case asks for each
  // of them once; from case to case they stay the same.
  enum class Tried { dropped, kept };
  explicit KnownShares(Tried tried = Tried::dropped) : tried_(tried) {}

  // Returns the shares of the owners of one set of holders of the placement: `placement.shards()` of them. `observed`:
  // with the table's `runtime`, where it has one. `most_head`: as for RowShares; less than usual in draws that are
  // tried.
  std::shared_ptr<const RowShares> of(const Placement& placement, const Table& table, RowCut cut, const RowHash& hash,
                                      bool observed, std::uint64_t most_head = kMostHeadRows);

  // The hottest rows of the placement, the `tier`-th of its table, with its planned law.
  std::shared_ptr<const HotRows> hot_rows(const Placement& placement, const Table& table, RowCut cut, int tier);

  // The figures of `lookups` lookups of the placement's rows, which `access` is the law of: some 100 us, kept.
  const RowReuse& reuse(const Placement& placement, const Table& table, const AccessDistribution& access,
                        double lookups);

  // Expected different rows of the placement in so many lookups of it, of which `access` is the law.
  double distinct(const Placement& placement, const Table& table, const AccessDistribution& access, double draws);

  // As Table::distribution(), a copy for tables of one kind.
  AccessDistribution distribution(const Table& table);

  // Placements whose shares are known: each may hold some 100,000 numbers.
  std::size_t size() const { return known_.size() + hot_rows_.size(); }

 private:
  using Key = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t, int, RowCut, std::uint64_t, int, bool,
                         std::uint64_t>;
  Tried tried_;
  std::map<Key, std::shared_ptr<const RowShares>> known_;
  using TriedKey = std::pair<std::uint64_t, Key>;  // with `most_head`
  std::map<TriedKey, std::shared_ptr<const RowShares>> tried_shares_;
  std::size_t tried_bytes_ = 0;
  std::map<Key, std::shared_ptr<const HotRows>> hot_rows_;
  // By rows of the table, lookups of a sample and of all. Tables of one kind have one law (distribution()); it may be
  // that of `runtime`.
  struct KnownReuse {
    std::string table;
    AccessDistribution access;
    RowReuse reuse;
  };
  struct KnownDistinct {
    AccessDistribution access;
    int bag = 0;  // of ids that follow from their first one; 0: all are independent
    double rows = 0;
  };
  using LookupsKey = std::tuple<std::uint64_t, std::uint64_t, double, double>;
  std::map<LookupsKey, std::deque<KnownReuse>> reuse_;
  std::map<LookupsKey, std::deque<KnownDistinct>> distinct_;
  std::shared_ptr<RowCurves> curves_ = std::make_shared<RowCurves>();

  std::shared_ptr<const RowShares> tried_of(const TriedKey& key,
                                            const std::function<std::shared_ptr<const RowShares>()>& found);
  RowShares shares_of(const Placement& placement, const Table& table, RowCut cut, const RowHash& hash, bool observed,
                      std::uint64_t most_head);

  // The facts that tables of one kind have in common, for the last kinds.
  struct Kind {
    AccessSpec access;
    double length = 0;  // of a sample, as stated
    AccessDistribution distribution;
  };
  std::deque<Kind> kinds_;
};

// The shares of the last tables that were asked for, for whoever simulates cases one after the other.
class KeptShares {
 public:
  using Tried = KnownShares::Tried;
  explicit KeptShares(Tried tried = Tried::dropped) : tried_(tried) {}

  // They know tables by their names, so they serve as long as all tables are the same; and they are begun anew when
  // they have become many.
  std::shared_ptr<KnownShares> of(const std::vector<Table>& tables);

 private:
  Tried tried_;
  std::vector<Table> tables_;
  std::shared_ptr<KnownShares> shares_;
};

// True when the result is the same as if every owner with rows had the same share of the lookups.
bool even(const RowShares& shares, const Placement& placement);

}  // namespace shardsim
