#pragma once

#include <string>
#include <vector>

namespace shardsim {

// A table for people: headers carry the unit, cells are finished text. Printed on a terminal or as HTML.
struct Sheet {
  struct Column {
    std::string header;
    bool number = true;  // right-aligned
  };
  struct Row {
    std::vector<std::string> cells;  // one per column, or a single one: the heading of the rows below
    bool quiet = false;              // of less weight, e.g. a fitted figure beside predicted ones
    bool is_heading(const Sheet& sheet) const { return cells.size() == 1 && sheet.columns.size() > 1; }
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
};

// Lines of at most `width` columns, each ending in a line feed. Text columns give way first: a cell cut short ends in
// "~". Control characters are printed as "?". `colour`: headers and headings bold, quiet rows faint.
std::string sheet_text(const Sheet& sheet, int width, bool colour);

// A <table> with every cell escaped.
std::string sheet_html(const Sheet& sheet);

// Columns that a text takes on a terminal, one per code point.
int display_width(const std::string& text);

// Text without control characters, at most `width` columns wide.
std::string clipped(const std::string& text, int width);

// Words of one paragraph on lines of at most `width` columns, each line led by `indent` and ending in a line feed.
std::string wrapped(const std::string& text, int width, const std::string& indent);

std::string bold(const std::string& text, bool colour);

}  // namespace shardsim
