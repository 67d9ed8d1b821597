#include "base/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>

#include "base/encoding.h"
#include "base/text.h"

namespace shardsim {
namespace {

// Reads one record after the other and counts the lines on the way.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, const std::string& source, char delimiter)
      : text_(text), source_(source), delimiter_(delimiter) {
    for (const char mark : {delimiter, '"', '\r', '\n'}) is_mark_[static_cast<unsigned char>(mark)] = true;
    at_ = line_begin_ = text.size() - without_byte_order_mark(text).size();
  }

  bool at_end() const { return at_ >= text_.size(); }
  Place place() const { return {source_, line_}; }

  CsvTable::Row next() {
    CsvTable::Row row{place(), {}, {}};
    row.cells.reserve(width_);
    row.columns.reserve(width_);
    const auto add = [&] {
      row.columns.push_back(static_cast<int>(at_ - line_begin_) + 1);
      row.cells.push_back(cell());
    };
    add();
    while (!at_end() && text_[at_] == delimiter_) {
      ++at_;
      add();
    }
    skip_line_end();
    width_ = row.cells.size();
    return row;
  }

 private:
  bool is_line_end() const {
    if (at_end() || text_[at_] == '\n') return true;
    return text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n';
  }

  void skip_line_end() {
    if (at_end()) return;
    at_ += text_[at_] == '\n' ? 1 : 2;
    ++line_;
    line_begin_ = at_;
  }

  std::string cell() { return !at_end() && text_[at_] == '"' ? quoted_cell() : bare_cell(); }

  std::string bare_cell() {
    const std::size_t begin = at_;
    for (to_mark(); !is_line_end() && text_[at_] != delimiter_; to_mark()) {
      if (text_[at_] == '"') {
        throw input_error(place(), "a quote inside a cell that does not begin with one",
                          "Put the whole cell in quotes and double the quotes inside");
      }
      ++at_;  // a carriage return within a line
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  // Goes on to the next character that means something in a bare cell. Asked of every byte of a table.
  void to_mark() {
    const std::size_t end = text_.size();
    std::size_t at = at_;
    while (at < end && !is_mark_[static_cast<unsigned char>(text_[at])]) ++at;
    at_ = at;
  }

  std::string quoted_cell() {
    const Place opened = place();
    std::string cell;
    for (++at_; !at_end(); ++at_) {
      if (text_[at_] == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
      }
      if (text_[at_] == '"') {
        if (text_.substr(at_, 2) != "\"\"") return closed(std::move(cell));
        ++at_;
      }
      cell += text_[at_];
    }
    throw input_error(opened, "a quote is never closed", "Close the cell with a quote");
  }

  std::string closed(std::string cell) {
    ++at_;
    if (is_line_end() || text_[at_] == delimiter_) return cell;
    throw input_error(place(), "text after the closing quote of a cell", "Put a comma between two cells");
  }

  std::string_view text_;
  std::string source_;
  char delimiter_;
  std::array<bool, 256> is_mark_{};  // [character]: ends a bare cell, or must not be in one
  std::size_t at_ = 0, line_begin_ = 0;
  int line_ = 1;
  std::size_t width_ = 0;  // cells of the last row
};

bool is_empty(const CsvTable::Row& row) {
  return row.cells.size() == 1 && row.cells[0].empty();
}

void check_header(const CsvTable& table) {
  std::set<std::string> names;
  for (const std::string& name : table.header) {
    if (name.empty())
      throw input_error(table.place, "a column has no name", "Give every column a name in the first line");
    if (!names.insert(name).second) {
      throw input_error(table.place, "column " + excerpt(name) + " appears twice", "Remove one of the two");
    }
  }
}

void check_width(const CsvTable::Row& row, const CsvTable& table) {
  if (row.cells.size() == table.header.size()) return;
  throw input_error(
      row.place,
      fmt::format("the row has {} cells, and the header names {} columns", row.cells.size(), table.header.size()),
      "Write one cell per column, in quotes where it holds a comma, and numbers without thousands separators");
}

}  // namespace

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::ranges::find(header, name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

CsvTable parse_csv(std::string_view text, const std::string& source, char delimiter) {
  std::size_t bad = 0;
  if (!is_plain_text(text, bad)) {
    if (const auto format = binary_format(text))
      throw input_error({source}, fmt::format("the file is {}", format->name), std::string(format->remedy));
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
    throw input_error({source, static_cast<int>(line)}, "the file is not UTF-8 text", "Save it as UTF-8");
  }
  CsvScanner scanner(text, source, delimiter);
  CsvTable table;
  table.place = scanner.place();
  if (!scanner.at_end()) {
    CsvTable::Row header = scanner.next();
    table.header = std::move(header.cells);
    table.header_columns = std::move(header.columns);
  }
  if (table.header.empty() || table.header == std::vector<std::string>{""}) {
    const bool empty = first_character(text) == '\0';
    throw input_error(table.place, empty ? "the file is empty" : "the file has no header",
                      "Name the columns in the first line");
  }
  check_header(table);
  while (!scanner.at_end()) {
    CsvTable::Row row = scanner.next();
    if (is_empty(row) && table.header.size() > 1) continue;
    check_width(row, table);
    table.rows.push_back(std::move(row));
  }
  return table;
}

namespace {

// True for a text that begins like a formula and is not a number: a spreadsheet that opens the table would compute or
// run it.
bool is_formula(const std::string& text) {
  if (text.size() < 2 || std::string_view("=+-@\t\r").find(text[0]) == std::string_view::npos) return false;
  double number = 0;
  const char* const end = text.data() + text.size();
  const char* const begin = text.data() + (text[0] == '+' ? 1 : 0);
  const auto read = std::from_chars(begin, end, number);
  return read.ec != std::errc() || read.ptr != end;
}

}  // namespace

std::string csv_cell(const std::string& cell) {
  const std::string text = is_formula(cell) ? "'" + cell : cell;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

namespace {

// "time" and "time (ms)" instead of "time_us": the unit must be in the name. A column that has this unit is another
// one.
std::string likely_column(std::string_view wanted, const std::vector<std::string>& header) {
  const std::string stem(wanted.substr(0, wanted.find('_')));
  const std::string unit(wanted.substr(wanted.rfind('_') + 1));
  const auto found = std::ranges::find_if(header, [&](const std::string& name) {
    return name.starts_with(stem) && (unit == wanted || !name.ends_with("_" + unit));
  });
  return found == header.end() ? "" : *found;
}

}  // namespace

void require_columns(const CsvTable& table, const std::vector<std::string>& wanted, const std::string& remedy) {
  for (const std::string& column : wanted) {
    if (table.column(column)) continue;
    if (table.header.size() == 1 && table.header.front().find_first_of(";\t|") != std::string::npos)
      throw input_error(table.place, "column " + column + " is missing: no comma is in the header",
                        "Separate the columns by commas");
    const std::string likely = likely_column(column, table.header);
    throw input_error(
        table.place, "column " + column + " is missing",
        likely.empty() ? remedy : "Name " + excerpt(likely) + " as " + column + ": units are part of the name");
  }
}

}  // namespace shardsim
