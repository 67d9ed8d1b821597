#include <fmt/format.h>

#include "base/document/cells.h"
#include "study/report/case_groups.h"
#include "study/report/sheets/result_sheets.h"

namespace shardsim {
namespace {

Sheet::Row spread_row(const std::string& figure, const IterationSpread& spread, double unit, int places) {
  const auto cell = [&](double value) { return fixed(value * unit, places); };
  return {{figure, cell(spread.mean), cell(spread.median), cell(spread.p5), cell(spread.p95),
           fixed(spread.standard_error * unit, places + 1)},
          false};
}

class DrawnSheetRows {
 public:
  DrawnSheetRows(Sheet& sheet, const CaseResult& item, int places)
      : sheet_(sheet), drawn_(*item.drawn), places_(places) {
    sheet_.rows.push_back(
        {{fmt::format("{}: {} iterations, seed {}", item.name, drawn_.iterations_ms.size(), drawn_.seed)}, false});
    sheet_.rows.push_back(spread_row("iteration ms", drawn_.iteration_ms, 1, places));
  }

  void add(const std::string& label, const std::string& key) { add(label, key, 1, places_); }
  void add(const std::string& label, const std::string& key, double unit, int places) {
    const auto found = drawn_.figures.find(key);
    if (found != drawn_.figures.end()) sheet_.rows.push_back(spread_row(label, found->second, unit, places));
  }

 private:
  Sheet& sheet_;
  const DrawnFigures& drawn_;
  int places_;
};

}  // namespace

Section drawn_section(const StudyResult& study, Medium medium) {
  Sheet sheet;
  sheet.columns = {{"figure", false}, {"mean"}, {"median"}, {"p5"}, {"p95"}, {"+-"}};
  const int places = decimals_for(longest_iteration_ms(study));
  for (const CaseResult& item : study.cases) {
    if (!item.drawn) continue;
    DrawnSheetRows rows(sheet, item, places);
    rows.add("samples/s", "samples_per_s", 1, 0);
    rows.add("compute ms", "compute_ms");
    rows.add("exposed ms", "exposed_ms");
    rows.add("waiting ms", "waiting_ms");
    rows.add("idle ms", "idle_ms");
    rows.add("peak GiB", "memory.simulated.largest_bytes", 1.0 / static_cast<double>(kGiB), 2);
    rows.add("lookups of the fullest rank, times the mean", "rank_loads.fullest_times_mean", 1, 3);
    for (const NamedTime& time : item.times) {
      if (medium == Medium::terminal || !is_communication(time.op_class)) continue;
      rows.add(time.name + ", exposed ms", "collectives." + time.name + ".exposed_ms");
    }
  }
  return table_section(
      "Drawn batches",
      "Every iteration has its own batches. p5, p95: the 5th and 95th percentile of the iterations. +-: standard error "
      "of the mean. compute, exposed, waiting (a part of exposed), idle: mean over the GPUs.",
      sheet);
}

}  // namespace shardsim
