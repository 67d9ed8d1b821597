#include "study/report/documents/drift_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/document/cells.h"
#include "base/text.h"
#include "study/drift/resharding.h"
#include "study/report/documents/resharding_text.h"
#include "study/report/sure_cells.h"

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

Sheet drift_sheet(const DriftResult& result, bool is_monitored, Medium medium) {
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
  if (!is_monitored) return sheet;
  sheet.columns.push_back({"cost error %"});
  for (std::size_t day = 0; day < result.days.size(); ++day)
    sheet.rows[day].cells.push_back(fixed(100 * result.days[day].cost_error, 1));
  return sheet;
}

DataSet::Cell known(bool is_known, double number) {
  return is_known ? DataSet::Cell(number) : DataSet::Cell("-");
}

DataSet days_of(const DriftResult& result) {
  DataSet days{"days",
               {"day", "kept_ms", "kept_low_ms", "kept_high_ms", "best_ms", "plan", "saved_s", "kept_gib", "best_gib"},
               {}};
  for (const DriftDay& day : result.days) {
    const bool kept = day.frozen_fits, best = day.best_fits;
    days.rows.push_back({static_cast<double>(day.day), known(kept, day.frozen_ms), known(kept, day.frozen_low_ms),
                         known(kept, day.frozen_high_ms), known(best, day.best_ms), best ? day.best : "none fits",
                         known(day.is_choice(), day.saved_s), static_cast<double>(day.frozen_bytes) / 0x1p30,
                         known(best, static_cast<double>(day.best_bytes) / 0x1p30)});
  }
  return days;
}

// The days on which to make a new plan, and those from which on memory does not suffice.
DataSet marks_of_days(const DriftResult& result, const DriftOptions& options) {
  DataSet marks{"marks", {"day", "what"}, {}};
  if (result.days.empty()) return marks;
  const Resharding found = resharding_of(result, options.pause);
  for (int day = found.every_days.value_or(0); found.every_days && day <= result.days.back().day;
       day += *found.every_days)
    marks.rows.push_back({static_cast<double>(day), "re-shard"});
  if (found.out_of_memory_day)
    marks.rows.push_back({static_cast<double>(*found.out_of_memory_day), "no memory for the kept plan"});
  if (found.no_plan_day) marks.rows.push_back({static_cast<double>(*found.no_plan_day), "no memory for any plan"});
  return marks;
}

Chart drift_chart(const DriftResult& result, const DriftOptions& options) {
  return {"drift-days",
          "drift_days",
          "The kept plan beside the best one, day by day",
          "The plan of day 0 as long as it fits in memory, and the best plan of each day.",
          false,
          {days_of(result), marks_of_days(result, options)}};
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
      std::string(
          "kept: the plan of day 0. best: the fastest of the day's own plans that fit in memory, the kept cuts with "
          "rows "
          "of the day among them, or the kept plan where none gains a ten-thousandth. chance: the probability that the "
          "best plan is really faster than the kept one, leaving "
          "out errors that "
          "affect both. regret: expected; how much time going to the best plan loses, on average over all outcomes, of "
          "which those count 0 in "
          "which it is the faster one. over: more memory than a GPU has, so that plan is none to keep. to move: bytes "
          "that change their holder. saved: by the best plans since day 0.") +
          (options.monitor ? " cost error: mean error of the policy's cost model on random shards of the day's tables, "
                             "in % of their mean time."
                           : ""),
      drift_sheet(result, options.monitor.has_value(), medium));
  if (!result.days.empty()) document.blocks.emplace_back(drift_chart(result, options));
  document.add(std::move(days));
  return document;
}

}  // namespace shardsim
