#include "sim/report/page.h"

#include <fmt/format.h>

#include "sim/report/html.h"
#include "sim/report/report_assets.h"

namespace shardsim {

namespace {

constexpr std::size_t kRowsInPage = 400;

std::string data_tables(const Chart& chart) {
  std::string result;
  for (const DataSet& set : chart.data) {
    Sheet sheet = sheet_of(set);
    const std::size_t rows = sheet.rows.size();
    if (rows > kRowsInPage) sheet.rows.resize(kRowsInPage);
    result += sheet_html(sheet);
    if (rows > kRowsInPage) result += fmt::format("<p>The first {} of {} rows.</p>\n", kRowsInPage, rows);
  }
  return folded_html("The same as a table", result, "data");
}

std::string drawing(const Chart& chart) {
  const std::string file = chart.plot + ".vg.json";
  return fmt::format(
      "<div class=\"chart\" id=\"{0}\"></div>\n<script type=\"application/json\" data-chart=\"{0}\">{1}</script>\n",
      escape_html(chart.id), fill_chart(report_asset(file), "plots/" + file, chart.data));
}

std::string head_html(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escape_html(title) + "</title>\n<style>\n" + report_asset("report.css") + "</style>\n</head>\n<body>\n";
}

}  // namespace

std::string folded_html(const std::string& summary, const std::string& content, const std::string& css_class) {
  return fmt::format("<details class=\"{}\"><summary>{}</summary>\n{}</details>\n", css_class, escape_html(summary),
                     content);
}

std::string chart_html(const Chart& chart, bool drawn) {
  const std::string body = fmt::format("<p class=\"caption\">{}</p>\n{}{}", escape_html(chart.caption),
                                       drawn ? drawing(chart) : "", data_tables(chart));
  if (chart.folded) return "<section>" + folded_html(chart.title, body, "chart-fold") + "</section>\n";
  return fmt::format("<section class=\"{}\"><h2>{}</h2>\n{}</section>\n", escape_html(chart.plot),
                     escape_html(chart.title), body);
}

std::string table_section(const std::string& heading, const std::string& caption, const Sheet& sheet) {
  if (sheet.rows.empty()) return "";
  return fmt::format("<section><h2>{}</h2>\n<p class=\"caption\">{}</p>\n{}</section>\n", escape_html(heading),
                     escape_html(caption), sheet_html(sheet));
}

std::string page_html(const std::string& title, const std::string& body) {
  const std::optional<std::string> vega = vega_script();
  std::string page = head_html(title);
  if (!vega) page += "<p class=\"notice\">This program was built without charts: the report holds tables only.</p>\n";
  page += body;
  if (vega) page += "<script>\n" + *vega + "</script>\n<script>\n" + report_asset("draw.js") + "</script>\n";
  return page + "</body>\n</html>\n";
}

bool charts_available() {
  return vega_script().has_value();
}

}  // namespace shardsim
