#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tree/tree.h"

namespace shardsim {

std::string without_blanks(std::string_view text);

// A line of a print, and its number in the file.
struct PrintedLine {
  std::string text;
  int number = 0;
};

std::vector<PrintedLine> printed_lines(std::string_view text);

// The lines of the process that printed the first line with all of these words: launchers and loggers begin lines with
// words of their own ("[rank0]:", "0: ", a time), which are taken off, and lines that begin otherwise are left out.
// Other numbers are another process where each begins such a line, and another time else. Where nothing but blanks
// stands before the first word there are no such words, and all lines stay.
std::vector<PrintedLine> lines_of_one_process(std::vector<PrintedLine> lines, const std::vector<std::string>& words);

// True where the first character that is no blank opens a dict.
bool first_character_is_dict(std::string_view text);

// A row of a printed table, its cells by column.
class TextRow {
 public:
  TextRow(const std::vector<std::string>& columns, std::vector<std::string> cells, Place place)
      : columns_(columns), cells_(std::move(cells)), place_(std::move(place)) {}

  const Place& place() const { return place_; }
  // The cell as a text; "" where the row has no such column.
  Tree cell(std::string_view column) const;

 private:
  const std::vector<std::string>& columns_;
  std::vector<std::string> cells_;
  Place place_;
};

// A table whose columns are separated by bars, or by two blanks and more, with a rule of hyphens below its head. It
// ends with the first line that has another number of cells.
class TextTable {
 public:
  // The table whose head is that line, if it is one.
  TextTable(const std::vector<PrintedLine>& lines, std::size_t head, const std::string& source);

  bool has(const std::vector<std::string>& columns) const;
  std::vector<TextRow> rows() const;
  // The number of the framed line ("# ... #") behind so many rows, all that it has, that has several cells, and too
  // few: a row that was cut off. 0 where there is none.
  int torn_row(std::size_t rows) const;

 private:
  const std::vector<PrintedLine>& lines_;
  std::size_t head_;
  const std::string& source_;
  std::vector<std::string> columns_;
};

}  // namespace shardsim
