#include "validate/comparison/comparison_html.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/version.h"
#include "sim/report/html.h"
#include "sim/report/page.h"
#include "validate/comparison/comparison_sheets.h"

namespace shardsim {
namespace {

constexpr std::size_t kRanksInPage = 256;

std::string charts_html(const ComparedCase& item, const std::string& id) {
  std::string wide, side_by_side;
  for (const Chart& chart : comparison_charts(item, id))
    (chart.plot == "compared_timelines" ? wide : side_by_side) += chart_html(chart, charts_available());
  return wide + "<div class=\"grid\">\n" + side_by_side + "</div>\n";
}

std::string notes_html(const std::vector<std::string>& notes) {
  std::string items;
  for (const std::string& note : notes) items += "<li>" + escape_html(note) + "</li>\n";
  return items.empty() ? "" : "<section><h2>Notes</h2>\n<ul>\n" + items + "</ul></section>\n";
}

std::string case_html(const ComparedCase& item, const std::optional<double>& tolerance, const std::string& id) {
  const TimelineComparison& comparison = item.comparison;
  return fmt::format("<p class=\"summary\">{}</p>\n<p class=\"origin\">{}</p>\n",
                     escape_html(comparison_summary(comparison)), escape_html(observed_on(comparison))) +
         charts_html(item, id) +
         table_section("Iteration, classes, operations", comparison_legend(), operations_sheet(comparison, tolerance)) +
         table_section("Ranks", "Predicted / observed, median over the iterations.",
                       ranks_sheet(comparison, kRanksInPage)) +
         notes_html(comparison.notes);
}

// Beside others, a case of its own heading; all but the first on demand.
std::string cases_html(const ComparisonReport& report) {
  std::string html;
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    const ComparedCase& item = report.cases[i];
    const std::string body = case_html(item, report.tolerance_pct, fmt::format("case{}", i));
    if (report.cases.size() == 1) return body;
    html += i == 0 ? fmt::format("<section><h2>{}</h2>\n{}</section>\n", escape_html(item.comparison.case_name), body)
                   : "<section>" + folded_html(item.comparison.case_name, body, "chart-fold") + "</section>\n";
  }
  return html;
}

// With several cases: one line each.
Sheet cases_sheet(const ComparisonReport& report) {
  Sheet sheet;
  if (report.cases.size() < 2) return sheet;
  sheet.columns = {{"case", false}, {"predicted and observed, the worst operations", false}};
  for (const ComparedCase& item : report.cases)
    sheet.rows.push_back({{item.comparison.case_name, comparison_summary(item.comparison)}});
  return sheet;
}

std::string lone_cases_html(const ComparisonReport& report) {
  std::vector<std::string> lines;
  if (!report.only_predicted.empty()) lines.push_back("Cases only predicted: " + join(report.only_predicted));
  if (!report.only_observed.empty()) lines.push_back("Cases only observed: " + join(report.only_observed));
  return notes_html(lines);
}

// "Predicted beside observed: main", by what the two files are.
std::string heading_of(const TimelineComparison& comparison) {
  const bool usual = comparison.first == "predicted" && comparison.second == "observed";
  const std::string sides =
      usual ? "Predicted beside observed" : fmt::format("The {} beside the {}", comparison.first, comparison.second);
  return sides + ": " + comparison.case_name;
}

std::string verdict_html(const ComparisonReport& report) {
  if (!report.tolerance_pct) return "";
  const std::vector<std::string> outside = report.outside();
  const std::string tolerance = shortest(*report.tolerance_pct);
  if (outside.empty())
    return fmt::format("<p class=\"summary\">All that the tolerance bounds is within {} %.</p>\n", tolerance);
  return fmt::format("<p class=\"notice\">Outside {} %: {}.</p>\n", tolerance, escape_html(join(outside)));
}

}  // namespace

std::string comparison_html(const ComparisonReport& report) {
  const std::string title =
      report.cases.size() == 1 ? heading_of(report.cases.front().comparison) : "Predicted beside observed";
  const std::string opening = fmt::format(
      "<header><h1>{}</h1>\n<p class=\"origin\">{} beside {}, shardsim {}</p>\n</header>\n<main>\n", escape_html(title),
      escape_html(report.predicted), escape_html(report.observed), escape_html(version()));
  return page_html(title, opening + verdict_html(report) +
                              table_section("Cases", "In order of the prediction.", cases_sheet(report)) +
                              cases_html(report) + lone_cases_html(report) + "</main>\n");
}

}  // namespace shardsim
