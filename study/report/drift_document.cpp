#include "study/report/drift_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/document/cells.h"
#include "base/text.h"
#include "study/report/how_sure.h"
#include "study/report/resharding_text.h"

namespace shardsim {
namespace {

// A terminal has no room for all of it.
constexpr const char* kOnPageAlone[] = {"best GiB", "moving ms"};

void leave_out_columns(Sheet& sheet, std::span<const char* const> headers) {
  for (const char* const header : headers) {
    const auto column = std::ranges::find(sheet.columns, header, &Sheet::Column::header) - sheet.columns.begin();
    sheet.columns.erase(sheet.columns.begin() + column);
    for (Sheet::Row& row : sheet.rows) row.cells.erase(row.cells.begin() + column);
  }
}

Sheet drift_sheet(const DriftResult& result, Medium medium) {
  Sheet sheet;
  sheet.in_time = true;
  sheet.columns = {{"day"},      {"kept ms"},  {"best ms"},     {"best plan", false}, {"chance %"}, {"regret %"},
                   {"kept GiB"}, {"best GiB"}, {"to move GiB"}, {"moving ms"},        {"saved s"}};
  const auto gib = [](double bytes) { return fixed(bytes / 0x1p30, 2); };
  const std::string none = "-";
  for (const DriftDay& day : result.days) {
    const bool fits = day.frozen_fits, best = day.best_fits, both = day.is_choice(), better = day.has_better();
    sheet.rows.push_back({{fmt::format("{}", day.day), fits ? fixed(day.frozen_ms, 3) : none,
                           best ? fixed(day.best_ms, 3) : none, best ? day.best : "none fits",
                           better ? chance_cell(day.chance) : none, better ? regret_cell(day.regret_pct) : none,
                           gib(static_cast<double>(day.frozen_bytes)) + (fits ? "" : " over"),
                           best ? gib(static_cast<double>(day.best_bytes)) : none, best ? gib(day.moved_bytes) : none,
                           best ? fixed(day.moving_s * 1e3, 2) : none, both ? fixed(day.saved_s, 1) : none}});
  }
  if (medium == Medium::terminal) leave_out_columns(sheet, kOnPageAlone);
  return sheet;
}

Chart drift_chart(const DriftResult& result) {
  DataSet days{"days", {"plan", "day", "iteration_ms"}, {}};
  for (const DriftDay& day : result.days) {
    if (day.frozen_fits) days.rows.push_back({"kept", static_cast<double>(day.day), day.frozen_ms});
    if (day.best_fits) days.rows.push_back({"best of the day", static_cast<double>(day.day), day.best_ms});
  }
  return {"drift",
          "drift",
          "Iteration by day",
          "The plan of day 0 as long as it fits in memory, and the best plan of each day.",
          false,
          {days}};
}

}  // namespace

Document drift_document(const DriftResult& result, const DriftOptions& options, const Scenario& scenario,
                        Medium medium) {
  Document document;
  document.title = scenario.title + ": drift of " + result.name;
  document.origin = scenario.path;
  document.blocks.emplace_back(Paragraph{resharding_text(result, options), Paragraph::Role::summary});
  Section days = table_section(
      "Days",
      "kept: the plan of day 0. best: the fastest of the day's own plans that fit in memory, the kept cuts with rows "
      "of the day among them, or the kept plan where none gains a ten-thousandth. chance: the probability that the "
      "best plan is really faster than the kept one, leaving "
      "out errors that "
      "affect both. regret: expected; how much time going to the best plan loses, on average over all outcomes, of "
      "which those count 0 in "
      "which it is the faster one. over: more memory than a GPU has, so that plan is none to keep. to move: bytes "
      "that change their holder. saved: by the best plans since day 0.",
      drift_sheet(result, medium));
  days.blocks.emplace_back(drift_chart(result));
  document.add(std::move(days));
  return document;
}

}  // namespace shardsim
