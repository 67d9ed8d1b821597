#include "sim/report/report_html.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sim/report/chart_data.h"
#include "sim/report/cross_check_html.h"
#include "sim/report/html.h"
#include "sim/report/memory_sheet.h"
#include "sim/report/page.h"
#include "sim/report/result_sheets.h"
#include "sim/report/summary.h"

namespace shardsim {

namespace {

// The small charts of one kind stand side by side under one heading.
std::string charts_html(const std::vector<Chart>& charts, bool drawn) {
  std::string result, small;
  for (const Chart& chart : charts) (chart.plot == "figure5" ? small : result) += chart_html(chart, drawn);
  if (small.empty()) return result;
  return result +
         "<section><h2>Memory against time when the most popular rows are replicated (FlexShard, Figure 5)</h2>\n"
         "<p class=\"caption\">Change against all rows row-wise, per GPU and iteration, by the paper's closed form. "
         "Left "
         "is faster, down is smaller. A: least memory, B: no extra memory, C: least time, D: all rows replicated.</p>\n"
         "<div class=\"grid\">" +
         small + "</div></section>\n";
}

// A table with rows for every case, shown on demand where there are many.
std::string many_folded(const StudyResult& study, const std::string& heading, const std::string& caption,
                        const Sheet& sheet) {
  if (!has_many_cases(study) || sheet.rows.empty()) return table_section(heading, caption, sheet);
  const std::string content = "<p class=\"caption\">" + escape_html(caption) + "</p>\n" + sheet_html(sheet);
  return "<section>" + folded_html(heading, content, "chart-fold") + "</section>\n";
}

std::string tables_html(const StudyResult& study) {
  return table_section("Cases",
                       "Fastest first. Est.: the closed form, without contention. Speed is against the slowest "
                       "case of the workload. GiB: memory of the fullest "
                       "GPU by the memory model; peak: its simulated high-water mark; of: its capacity. What limits a "
                       "case is its busiest link or unit, and for how many % of the time it is busy.",
                       cases_sheet(study)) +
         table_section("Jobs side by side", jobs_legend(), jobs_sheet(study)) +
         many_folded(
             study, "Collectives",
             "Per iteration. Alone: all calls without contention. In run: as they ran beside the others, on the "
             "slowest GPU. Exposed: what neither compute nor a collective that ends later hides, mean over the "
             "GPUs. Waiting: the part of it before the last GPU of the group had arrived; the rest is transfer.",
             collectives_sheet(study, study.cases.size())) +
         many_folded(study, "Memory at its peak", memory_legend(), memory_sheet(study)) +
         table_section("Predicted beside published, every number", published_legend(study),
                       published_sheet(study, true)) +
         table_section("Fitted constants",
                       "Every constant that was set to meet a measurement, and the numbers it was set by.",
                       constants_sheet(study));
}

std::string notes_html(const StudyResult& study) {
  std::string items;
  for (const auto& [text, cases] : notes_by_text(study)) {
    items += "<li><b>" + escape_html(some_names(cases)) + "</b>: " + escape_html(text) + "</li>\n";
  }
  if (items.empty()) return "";
  const std::string list = "<ul>\n" + items + "</ul>";
  if (has_many_cases(study)) return "<section>" + folded_html("Notes", list, "chart-fold") + "</section>\n";
  return "<section><h2>Notes</h2>\n" + list + "</section>\n";
}

// Keeps "22 %" and "226 ms" on one line.
std::string unbroken_units(std::string text) {
  for (const std::string unit : {" %", " ms"}) {
    for (std::size_t at = text.find(unit); at != std::string::npos; at = text.find(unit, at)) {
      text.replace(at, 1, "&nbsp;");
    }
  }
  return text;
}

std::string opening_html(const StudyResult& study, const std::string& title) {
  return fmt::format(
      "<header><h1>{}</h1>\n<p class=\"origin\">{}, seed {}, shardsim {}</p>\n</header>\n<main>\n"
      "<p class=\"summary\">{}</p>\n",
      escape_html(title), escape_html(study.scenario), study.seed, escape_html(study.version),
      unbroken_units(escape_html(summary_text(study))));
}

}  // namespace

std::string report_html(const StudyResult& study) {
  const std::string title = study.title.empty() ? study.scenario : study.title;
  const std::string body = opening_html(study, title) + cross_check_html(study, charts_available()) +
                           charts_html(charts_of(study), charts_available()) + tables_html(study) + notes_html(study);
  return page_html(title, body + "</main>\n");
}

}  // namespace shardsim
