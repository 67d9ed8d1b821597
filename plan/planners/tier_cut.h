#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/access/access_distribution.h"
#include "models/workload/workload.h"
#include "plan/flexshard_equations.h"
#include "plan/plan.h"
#include "topology/graph/cluster.h"

namespace shardsim {

// Number of rows taken from the head of each table.
using RowMark = std::vector<std::uint64_t>;

// The rows of several tables as one list, by falling probability; equal ones by table index, then by position
// (the FlexShard paper's ranking over all tables). No row is stored: a place in the list is a RowMark.
class MergedRows {
 public:
  void add(AccessDistribution distribution, double row_bytes);

  std::size_t tables() const { return tables_.size(); }
  const AccessDistribution& distribution(std::size_t table) const { return tables_[table].distribution; }
  double row_bytes(std::size_t table) const { return tables_[table].row_bytes; }

  RowMark none() const { return RowMark(tables_.size(), 0); }
  RowMark all() const;
  RowMark at_least(double p) const;  // rows with probability `p` or more

  double bytes(const RowMark& cut) const;     // of the rows before the cut, one copy each
  double accesses(const RowMark& cut) const;  // bytes that one sample reads of the rows before the cut, expected

  // The furthest place on the way from `from` to at_least(p_end) for which `fits` holds. `fits` must hold at `from` and
  // turn false once at most. Tables that are further than the list at `from` wait for the others.
  RowMark furthest(const RowMark& from, double p_end, const std::function<bool(const RowMark&)>& fits) const;

  // One row further down the list; `cut` itself at its end.
  RowMark next(const RowMark& cut) const;

 private:
  struct Entry {
    AccessDistribution distribution;
    double row_bytes;
  };
  RowMark take_run(RowMark from, const RowMark& to, const std::function<bool(const RowMark&)>& fits) const;

  std::vector<Entry> tables_;
};

// Those of all tables.
MergedRows merged_rows(const Workload& workload);

// Each count down, or up, to a multiple of `multiple`; up stops at the last multiple that the
// table holds.
RowMark rounded_down(RowMark cut, std::uint64_t multiple);
RowMark rounded_up(RowMark cut, std::uint64_t multiple, const MergedRows& rows);

// Where FlexShard cuts each table into tiers: the first `dp` rows data-parallel, the next `flex` rows Flex, the rest
// row-wise.
struct TierCut {
  RowMark dp, flex;
};

enum class CutRule {
  two_tiers,  // no Flex
  paper,      // DP while a row saves memory that way (FlexShard paper, planning section)
  crossover,  // DP while a row takes no more memory than as Flex
  optimal,    // least summed time of the four collectives
};

struct TierRequest {
  double extra_bytes = 0;           // allowed memory over all row-wise, per GPU; may be negative
  std::uint64_t rounding = 1;       // tiers but the last are multiples of it
  bool cap_at_comm_neutral = true;  // two tiers: stop where a row more as DP costs time
  CutRule rule = CutRule::paper;
  double flex_stop = 0;  // three tiers: no row of smaller probability is Flex; infinite: none is
};

// Memory over all row-wise, bytes per GPU.
double extra_bytes(const CostParameters& cost, const MergedRows& rows, const TierCut& cut);

// The smallest extra_bytes for which there is a plan.
double smallest_extra_bytes(const CostParameters& cost, const MergedRows& rows, std::uint64_t rounding);

// Needs request.extra_bytes >= smallest_extra_bytes and never exceeds it.
TierCut tier_cut(const CostParameters& cost, const MergedRows& rows, const TierRequest& request);

// Every table in the tiers of the cut: data-parallel, flex by node, row-wise over all ranks.
Plan tiered_plan(const TierCut& cut, const Workload& workload, const Cluster& cluster, std::uint64_t seed);

}  // namespace shardsim
