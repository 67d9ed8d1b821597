#pragma once

#include <string>
#include <vector>

namespace shardsim {

// A row of a Markdown table, with its line end. Users' labels may hold what would end a cell or the row: a bar is
// escaped, a line break becomes a blank.
std::string markdown_line(const std::vector<std::string>& cells);

}  // namespace shardsim
