#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace shardsim {

// A table with a header line, as RFC 4180 has it: cells between commas, a cell in double quotes may hold commas, line
// ends and doubled quotes.
struct CsvTable {
  struct Row {
    Place place;  // file and line of its first cell
    std::vector<std::string> cells;
    std::vector<int> columns;  // of the file, from 1, where each cell begins

    Place cell_place(std::size_t cell) const { return {place.source, place.line, columns[cell]}; }
  };
  Place place;  // of the header
  std::vector<std::string> header;
  std::vector<int> header_columns;  // as Row::columns
  std::vector<Row> rows;            // each as many cells as the header; empty lines are left out

  std::optional<std::size_t> column(std::string_view name) const;
};

// Lines end in LF or CR LF; a byte order mark is skipped; `delimiter` stands between cells. Errors (Failure::input,
// with the line): no header, an empty or repeated column name, a row with another number of cells, a quote inside a
// bare cell, text after a closing quote, a quote that never closes, anything that is no UTF-8 text.
CsvTable parse_csv(std::string_view text, const std::string& source, char delimiter = ',');

// Refuses a table without one of these columns. Errors (Failure::input at the header): which one, and the column that
// was likely meant ("time" for "time_us": units are part of the name), else `remedy`.
void require_columns(const CsvTable& table, const std::vector<std::string>& wanted, const std::string& remedy);

// Text as a cell of such a table, in quotes where it needs them, and behind an apostrophe where a spreadsheet would
// take it for a formula (OWASP, "CSV Injection").
std::string csv_cell(const std::string& cell);

}  // namespace shardsim
