#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace shardsim {

// Which words of a row of nccl-tests are what. Type, redop and root may be missing or blank, so what follows them
// counts from the end.
struct TableLayout {
  std::vector<std::string> leading;  // names of the columns before the first time
  std::size_t trailing = 0;          // words from the first time on
  std::vector<std::string> after;    // names of the columns from the first time on
  double us_per_time = 1;            // programs before 2018 print milliseconds

  bool is_known() const { return trailing > 0; }
  // True of as many words as a row has, some of which may be blank.
  bool fits(const std::vector<std::string>& words) const;
};

// The layout that a header line states: size, then time, algbw and busbw out of place, then the same in place. Nothing
// of other lines. The time is the column before the first algbw: were it looked for by its name alone, a log that calls
// it otherwise gave its in-place times. Errors (Failure::input): that column is not the time.
std::optional<TableLayout> layout_of(const std::vector<std::string>& words, const Place& place);

// Checks the line below the header, "(B) (elements) (us) (GB/s) (GB/s) ...". Errors (Failure::input): a unit that would
// be read as another one. Columns without a unit leave no word.
void check_units(const std::vector<std::string>& words, const Place& place);

// The words that begin a line as those of a row do: a number, "N/A" or a name where the columns have it. A message that
// broke the row may stand directly behind the root, whose number is taken ("-1node3:17:17").
std::vector<std::string> beginning_of_row(const TableLayout& layout, const std::vector<std::string>& words);

// The piece of a row with "N/A" for what it lacks in place. Nothing where it lacks more.
std::optional<std::vector<std::string>> completed_row(const TableLayout& layout, std::vector<std::string> piece);

// True of a number as a row has it, and of "N/A".
bool is_figure(const std::string& word);

}  // namespace shardsim
