#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tree/tree.h"

namespace shardsim {

std::string without_blanks(std::string_view text);
std::vector<std::string> printed_lines(std::string_view text);
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
  TextTable(const std::vector<std::string>& lines, std::size_t head, const std::string& source);

  bool has(const std::vector<std::string>& columns) const;
  std::vector<TextRow> rows() const;

 private:
  const std::vector<std::string>& lines_;
  std::size_t head_;
  const std::string& source_;
  std::vector<std::string> columns_;
};

}  // namespace shardsim
