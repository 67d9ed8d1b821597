#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/document/cells.h"
#include "base/document/document.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kRowsInPage = 400;
constexpr std::pair<std::string_view, std::string_view> kColumnUnits[] = {
    {"_ms", "ms"}, {"_gib", "GiB"}, {"_pct", "%"}, {"_mb", "MB"}};  // ends of columns' names, and what they mean

bool has_unit(const std::string& column) {
  return std::ranges::any_of(kColumnUnits, [&](const auto& each) { return column.ends_with(each.first); });
}

// Formats a value that has a unit without an exponent, because a time of 1e-13 ms is a rounded 0.
std::string number_in_unit(double value) {
  std::string text = fixed(value, 9);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string number_text(double value, const std::string& column) {
  if (!std::isfinite(value)) return "-";
  const bool whole = std::abs(value) < 1e15 && value == std::round(value);
  if (whole || (std::abs(value) >= 1e5 && std::abs(value) < 1e15)) return with_thousands(std::llround(value));
  if (std::abs(value) < 1e-4 && has_unit(column)) return number_in_unit(value);
  return fmt::format("{:.4g}", value);
}

std::string data_cell(const DataSet::Cell& cell, const std::string& column) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return number_text(std::get<double>(cell), column);
}

std::string data_header(const std::string& column) {
  std::string result = column;
  for (const auto& [suffix, unit] : kColumnUnits) {
    if (column.ends_with(suffix))
      result = fmt::format("{} ({})", column.substr(0, column.size() - suffix.size()), unit);
  }
  std::replace(result.begin(), result.end(), '_', ' ');
  return result;
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

std::string paragraph_html(const Paragraph& paragraph) {
  static constexpr std::array<const char*, 5> kClasses = {"", "caption", "summary", "notice", "origin"};  // by role
  const std::string css = kClasses.at(static_cast<std::size_t>(paragraph.role));
  const bool answer = paragraph.role == Paragraph::Role::summary || paragraph.role == Paragraph::Role::notice;
  const std::string text = escape_html(paragraph.text);
  return fmt::format("<p{}>{}</p>\n", css.empty() ? "" : " class=\"" + css + "\"",
                     answer ? unbroken_units(text) : text);
}

std::string notes_html(const NoteList& list) {
  const char* const element = list.numbered ? "ol" : "ul";
  std::string items;
  for (const NoteList::Note& note : list.notes) {
    const std::string about = note.about.empty() ? "" : "<b>" + escape_html(note.about) + "</b>: ";
    items += "<li>" + about + escape_html(note.text) + "</li>\n";
  }
  return fmt::format("<{0}>\n{1}</{0}>\n", element, items);
}

std::string folded_html(const std::string& summary, const std::string& content, const char* css_class) {
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
  return folded_html("The same as a table", result, "data");
}

// Writes blocks as HTML elements; headings inside of a section are one level lower.
class PageWriter {
 public:
  explicit PageWriter(const ChartDrawer& draw) : draw_(draw) {}

  std::string html(const std::vector<Section::Block>& blocks) {
    std::string result;
    for (const Section::Block& block : blocks) result += std::visit(*this, block);
    return result;
  }

  std::string operator()(const Paragraph& paragraph) { return paragraph_html(paragraph); }
  std::string operator()(const NoteList& list) { return notes_html(list); }
  std::string operator()(const Sheet& sheet) { return sheet_html(sheet); }
  std::string operator()(const Chart& chart) {
    const std::string caption = "<p class=\"caption\">" + escape_html(chart.caption) + "</p>\n";
    return section(chart.title, caption + (draw_ ? draw_(chart) : "") + data_tables(chart), chart.folded,
                   " class=\"" + escape_html(chart.plot) + "\"");
  }
  std::string operator()(const Section& part) {
    const std::string heading = part.heading + (part.remark.empty() ? "" : ", " + part.remark);
    ++level_;
    const std::string content = part.side_by_side ? beside(part.blocks) : html(part.blocks);
    --level_;
    return section(heading, content, part.folded, "");
  }

 private:
  std::string section(const std::string& heading, const std::string& content, bool folded, const std::string& css) {
    if (folded) return "<section>" + folded_html(heading, content, "chart-fold") + "</section>\n";
    const std::string title = heading.empty() ? "" : fmt::format("<h{0}>{1}</h{0}>\n", level_, escape_html(heading));
    return "<section" + css + ">" + title + content + "</section>\n";
  }

  std::string beside(const std::vector<Section::Block>& blocks) {
    std::string before, charts;
    for (const Section::Block& block : blocks) {
      (std::holds_alternative<Chart>(block) ? charts : before) += std::visit(*this, block);
    }
    return before + "<div class=\"grid\">\n" + charts + "</div>\n";
  }

  const ChartDrawer& draw_;
  int level_ = 2;
};

}  // namespace

Sheet sheet_of(const DataSet& set) {
  Sheet sheet;
  for (std::size_t c = 0; c < set.columns.size(); ++c) {
    const bool number = !set.rows.empty() && std::holds_alternative<double>(set.rows.front()[c]);
    sheet.columns.push_back({data_header(set.columns[c]), number});
  }
  for (const auto& row : set.rows) {
    Sheet::Row cells;
    for (std::size_t c = 0; c < row.size(); ++c) cells.cells.push_back(data_cell(row[c], set.columns[c]));
    sheet.rows.push_back(std::move(cells));
  }
  return sheet;
}

// Most cells of a page are numbers, so these are what cells are unless the table says which columns are text: a class
// for each cell would be a third of a report. So would closing tags, which HTML does without.
std::string sheet_html(const Sheet& sheet) {
  std::string text_columns;
  for (std::size_t c = 0; c < sheet.columns.size(); ++c)
    if (!sheet.columns[c].number) text_columns += fmt::format(" t{}", c + 1);
  std::string result = fmt::format("<div class=\"scroll\"><table class=\"sheet{}\">\n<thead><tr>", text_columns);
  for (const Sheet::Column& column : sheet.columns)
    result += (column.header.empty() ? "<td>"
               : column.minor        ? "<th scope=\"col\" class=\"minor\">"
                                     : "<th scope=\"col\">") +
              escape_html(column.header);
  result += "</thead>\n<tbody>\n";
  for (const Sheet::Row& row : sheet.rows) {
    if (row.is_heading(sheet)) {
      result +=
          fmt::format("<tr class=\"heading\"><td colspan=\"{}\">{}\n", sheet.columns.size(), escape_html(row.cells[0]));
      continue;
    }
    result += row.quiet ? "<tr class=\"quiet\">" : "<tr>";
    for (const std::string& cell : row.cells) result += "<td>" + escape_html(cell);
    result += "\n";
  }
  return result + "</tbody></table></div>\n";
}

std::string document_html(const Document& document, const ChartDrawer& draw) {
  return fmt::format("<header><h1>{}</h1>\n<p class=\"origin\">{}</p>\n</header>\n<main>\n{}</main>\n",
                     escape_html(document.title), escape_html(document.origin), PageWriter(draw).html(document.blocks));
}

std::string escape_html(std::string_view text) {
  static constexpr std::string_view kSpecial = "&<>\"'";
  static constexpr std::array<const char*, 5> kEscaped = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string result;
  for (const char c : text) {
    const std::size_t place = kSpecial.find(c);
    result += place == std::string_view::npos ? std::string(1, c) : kEscaped[place];
  }
  return result;
}

}  // namespace shardsim
