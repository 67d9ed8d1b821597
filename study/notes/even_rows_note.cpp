#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "study/notes/load_notes.h"
#include "study/notes/notes.h"

namespace shardsim {
namespace {

// Row-wise traffic is simulated as evenly split over the owners. A row is not divisible: the owner of the hottest one
// serves all of it, and its share of the others.
struct Skew {
  const Table* table = nullptr;
  double hottest = 0;  // its share of the tier's accesses
  double load = 1;     // of its owner, in even shares
};

Skew skew_of(const Placement& placement, const Workload& workload) {
  const Table& table = workload.tables[static_cast<std::size_t>(placement.table)];
  const auto owners = static_cast<double>(placement.holders.front().size());
  if (placement.strategy != Strategy::row_wise || owners < 2) return {};
  const AccessDistribution access = table.distribution();
  const double sum = access.sum(placement.row_begin, placement.row_end);
  if (!(sum > 0)) return {};
  const double hottest = access.probability(placement.row_begin) / sum;
  return {&table, hottest, 1 + hottest * (owners - 1)};
}

// Bytes of rows that an iteration reads of a row-wise placement, per sample.
double read_bytes(const Placement& placement, const Table& table) {
  if (placement.strategy != Strategy::row_wise) return 0;
  return table.distribution().sum(placement.row_begin, placement.row_end) * static_cast<double>(table.row_bytes());
}

// At most how much longer the iteration gets, in percent, when the rank of the hottest row serves `load` even shares
// and all ranks wait for it; `share`: of the table in the bytes that row-wise placements read. What grows is what moves
// or touches ids and rows: pooled rows cross the network as partial sums, of which every rank sends as many.
double slower_pct(const Skew& skew, double share, const CaseResult& result) {
  double ms = 0;
  for (const NamedTime& time : result.times) {
    if (time.name == "lookup_row_wise" || time.name == "update_row_wise") ms += time.span_ms;
    const bool rows = time.name == "global_all_to_all" && skew.table->kind == TableKind::sequence;
    if (time.name == "input_all_to_all" || rows) ms += time.exposed_ms;
  }
  return 100 * (skew.load - 1) * share * ms / result.iteration_ms;
}

// A bound, rounded up in few steps, so that cases alike share one note.
std::string bound_text(double percent) {
  if (percent < 1) return "less than 1 %";
  for (const double step : {1, 2, 5, 10}) {
    if (percent <= step) return fmt::format("at most about {:g} %", step);
  }
  return fmt::format("at most about {:g} %", 10 * std::ceil(percent / 10));
}

}  // namespace

// One note, for the table whose skew costs most.
Notes even_rows_note(const Known& known) {
  if (known.item.load.row_shares != LoadOptions::RowShares::even) return {};
  const Plan& plan = known.prepared->plan;
  const Workload& workload = known.item.workload;
  double all = 0;
  for (const Placement& placement : plan.placements) all += read_bytes(placement, workload.tables[placement.table]);
  Skew worst;
  double most = -1, together = 0;
  int skewed = 0;
  for (const Placement& placement : plan.placements) {
    const Skew skew = skew_of(placement, workload);
    if (skew.table == nullptr || skew.load < 1 + kTellingSkew) continue;
    const double slower = slower_pct(skew, read_bytes(placement, *skew.table) / all, *known.result);
    ++skewed;
    together += slower;
    if (slower <= most) continue;
    worst = skew;
    most = slower;
  }
  if (skewed == 0) return {};
  return {fmt::format(
      "The most popular row-wise row of table '{}' gets {:.1f} % of the accesses of its tier, so the rank that holds "
      "it serves about {:.1f} times the even share. Row-wise traffic is simulated as even; the real iteration is "
      "slower, because of this table by {}.{}{}",
      worst.table->name, 100 * worst.hottest, worst.load, bound_text(most), tiers_remedy(workload),
      skewed > 1 ? fmt::format(" This also holds for: {}. If one rank held the most popular rows of all these tables, "
                               "the iteration would be slower by {}.",
                               counted(static_cast<std::size_t>(skewed - 1), "row-wise table"), bound_text(together))
                 : "")};
}

}  // namespace shardsim
