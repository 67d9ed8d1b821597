#include "sim/report/sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "base/text.h"
#include "sim/report/html.h"

namespace shardsim {

namespace {

constexpr int kIndent = 2;
constexpr int kGap = 2;
constexpr int kLeastTextWidth = 8;

bool continues_code_point(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

std::string faint(const std::string& text, bool colour) {
  return colour ? "\033[2m" + text + "\033[0m" : text;
}

std::vector<int> natural_widths(const Sheet& sheet) {
  std::vector<int> widths;
  for (std::size_t c = 0; c < sheet.columns.size(); ++c) {
    int widest = display_width(sheet.columns[c].header);
    for (const Sheet::Row& row : sheet.rows) {
      if (!row.is_heading(sheet)) widest = std::max(widest, display_width(row.cells[c]));
    }
    widths.push_back(widest);
  }
  return widths;
}

int total_width(const std::vector<int>& widths) {
  return kIndent + std::accumulate(widths.begin(), widths.end(), 0) + kGap * (static_cast<int>(widths.size()) - 1);
}

// Narrows the widest text column until the line fits or no text column can give more.
void fit(const Sheet& sheet, int width, std::vector<int>& widths) {
  while (total_width(widths) > width) {
    int widest = -1;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const bool can_give = !sheet.columns[c].number && widths[c] > kLeastTextWidth;
      if (can_give && (widest < 0 || widths[c] > widths[widest])) widest = static_cast<int>(c);
    }
    if (widest < 0) return;
    --widths[widest];
  }
}

std::string padded(const std::string& text, int width, bool right) {
  const std::string shown = clipped(text, width);
  const std::string blanks(std::max(0, width - display_width(shown)), ' ');
  return right ? blanks + shown : shown + blanks;
}

std::string line_of(const Sheet& sheet, const std::vector<int>& widths, const std::vector<std::string>& cells,
                    int width) {
  std::string line(kIndent, ' ');
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (c > 0) line += std::string(kGap, ' ');
    line += padded(cells[c], widths[c], sheet.columns[c].number);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return clipped(line, width);
}

}  // namespace

int display_width(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return !continues_code_point(c); }));
}

std::string clipped(const std::string& text, int width) {
  std::string result = printable(text);
  if (display_width(result) <= width) return result;
  int kept = 0;
  std::size_t end = 0;
  while (end < result.size() && (continues_code_point(result[end]) || ++kept < width)) ++end;
  return width > 0 ? result.substr(0, end) + "~" : "";
}

std::string wrapped(const std::string& text, int width, const std::string& indent) {
  std::istringstream words(printable(text));
  std::string result, line = indent, word;
  while (words >> word) {
    const bool first = line.size() == indent.size();
    if (!first && display_width(line) + 1 + display_width(word) > width) {
      result += line + "\n";
      line = indent;
    }
    line += (line.size() == indent.size() ? "" : " ") + word;
    line = clipped(line, width);
  }
  return line.size() > indent.size() ? result + line + "\n" : result;
}

std::string bold(const std::string& text, bool colour) {
  return colour ? "\033[1m" + text + "\033[0m" : text;
}

std::string sheet_text(const Sheet& sheet, int width, bool colour) {
  std::vector<int> widths = natural_widths(sheet);
  fit(sheet, width, widths);
  std::vector<std::string> headers;
  for (const Sheet::Column& column : sheet.columns) headers.push_back(column.header);
  std::string result = bold(line_of(sheet, widths, headers, width), colour) + "\n";
  for (const Sheet::Row& row : sheet.rows) {
    if (row.is_heading(sheet)) {
      result += bold(clipped(row.cells[0], width), colour) + "\n";
    } else {
      result += faint(line_of(sheet, widths, row.cells, width), colour && row.quiet) + "\n";
    }
  }
  return result;
}

std::string sheet_html(const Sheet& sheet) {
  const auto css_class = [&](std::size_t c) { return sheet.columns[c].number ? " class=\"number\"" : ""; };
  std::string result = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (std::size_t c = 0; c < sheet.columns.size(); ++c) {
    result += fmt::format("<th{}>{}</th>", css_class(c), escape_html(sheet.columns[c].header));
  }
  result += "</tr></thead>\n<tbody>\n";
  for (const Sheet::Row& row : sheet.rows) {
    if (row.is_heading(sheet)) {
      result += fmt::format("<tr class=\"heading\"><td colspan=\"{}\">{}</td></tr>\n", sheet.columns.size(),
                            escape_html(row.cells[0]));
      continue;
    }
    result += row.quiet ? "<tr class=\"quiet\">" : "<tr>";
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      result += fmt::format("<td{}>{}</td>", css_class(c), escape_html(row.cells[c]));
    }
    result += "</tr>\n";
  }
  return result + "</tbody></table></div>\n";
}

}  // namespace shardsim
