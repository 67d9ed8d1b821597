#include "sim/io/report_html.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sim/io/chart_data.h"
#include "sim/io/html.h"
#include "sim/io/report_assets.h"
#include "sim/io/result_sheets.h"
#include "sim/io/summary.h"

namespace shardsim {

namespace {

constexpr std::size_t kRowsInPage = 400;

std::string folded(const std::string& summary, const std::string& content, const std::string& css_class) {
  return fmt::format("<details class=\"{}\"><summary>{}</summary>\n{}</details>\n", css_class, escape_html(summary),
                     content);
}

std::string data_tables(const Chart& chart) {
  std::string result;
  for (const DataSet& set : chart.data) {
    Sheet sheet = sheet_of(set);
    const std::size_t rows = sheet.rows.size();
    if (rows > kRowsInPage) sheet.rows.resize(kRowsInPage);
    result += sheet_html(sheet);
    if (rows > kRowsInPage) result += fmt::format("<p>The first {} of {} rows.</p>\n", kRowsInPage, rows);
  }
  return folded("The same as a table", result, "data");
}

std::string drawing(const Chart& chart) {
  const std::string file = chart.plot + ".vg.json";
  return fmt::format(
      "<div class=\"chart\" id=\"{0}\"></div>\n<script type=\"application/json\" data-chart=\"{0}\">{1}</script>\n",
      escape_html(chart.id), fill_chart(report_asset(file), "plots/" + file, chart.data));
}

std::string chart_html(const Chart& chart, bool drawn) {
  const std::string body = fmt::format("<p class=\"caption\">{}</p>\n{}{}", escape_html(chart.caption),
                                       drawn ? drawing(chart) : "", data_tables(chart));
  if (chart.folded) return "<section>" + folded(chart.title, body, "chart-fold") + "</section>\n";
  return fmt::format("<section class=\"{}\"><h2>{}</h2>\n{}</section>\n", escape_html(chart.plot),
                     escape_html(chart.title), body);
}

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

std::string section(const std::string& heading, const std::string& caption, const Sheet& sheet) {
  if (sheet.rows.empty()) return "";
  return fmt::format("<section><h2>{}</h2>\n<p class=\"caption\">{}</p>\n{}</section>\n", escape_html(heading),
                     escape_html(caption), sheet_html(sheet));
}

std::string tables_html(const StudyResult& study) {
  return section("Cases",
                 "Fastest first. Est.: the closed form, without contention. Speed is against the slowest "
                 "case of the workload. GiB: memory of the fullest "
                 "GPU. What limits a case is its busiest link or unit.",
                 cases_sheet(study)) +
         section("Jobs side by side", jobs_legend(), jobs_sheet(study)) +
         section("Collectives",
                 "Per iteration. Alone: all calls without contention. In run: as they ran beside the others, on the "
                 "slowest "
                 "GPU. Exposed: what neither compute nor a collective that ends later hides, mean over the GPUs.",
                 collectives_sheet(study)) +
         section("Predicted beside published, every number", published_legend(study), published_sheet(study, true)) +
         section("Fitted constants",
                 "Every constant that was set to meet a measurement, and the numbers it was set by.",
                 constants_sheet(study));
}

std::string notes_html(const StudyResult& study) {
  std::string items;
  for (const auto& [text, cases] : notes_by_text(study)) {
    items += "<li><b>" + escape_html(join(cases)) + "</b>: " + escape_html(text) + "</li>\n";
  }
  return items.empty() ? "" : "<section><h2>Notes</h2>\n<ul>\n" + items + "</ul></section>\n";
}

std::string head_html(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escape_html(title) + "</title>\n<style>\n" + report_asset("report.css") + "</style>\n</head>\n<body>\n";
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
  const std::optional<std::string> vega = vega_script();
  std::string page = head_html(title) + opening_html(study, title);
  if (!vega) page += "<p class=\"notice\">This program was built without charts: the report holds tables only.</p>\n";
  page += charts_html(charts_of(study), vega.has_value()) + tables_html(study) + notes_html(study) + "</main>\n";
  if (vega) page += "<script>\n" + *vega + "</script>\n<script>\n" + report_asset("draw.js") + "</script>\n";
  return page + "</body>\n</html>\n";
}

}  // namespace shardsim
