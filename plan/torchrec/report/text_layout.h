#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shardsim::torchrec {

// Text for a terminal of 100 columns.
inline constexpr std::size_t kTerminalColumns = 100;

// Cells under a header and a row of dashes: the first column left-aligned, the others right-aligned, each as wide as
// its longest cell.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

std::string wrapped(const std::string& text);  // at blanks, with a line end

// "0-3,8": ascending, each once; cut at `width` with "..." for the rest.
std::string short_ranks(std::vector<int> ranks, std::size_t width);

}  // namespace shardsim::torchrec
