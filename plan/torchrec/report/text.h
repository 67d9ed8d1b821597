#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/torchrec/spec/topology.h"

namespace shardsim::torchrec {

// The number formats of TorchRec's statistics.

double rounded(double value, int decimals);  // half to even on the exact value, as Python's round
std::string decimals_text(double value,
                          int decimals);        // rounded, then the shortest form, one decimal kept: "7.31", "0.0"
std::string percent_text(double share);         // 0.526 is "53%"
double percent(double share);                   // 0.526 is 53
double significant(double value, int digits);   // 0.0056 with one digit is 0.006
double part(double ms);                         // of a perf cell: whole from 1 on, else one significant digit
std::string rank_text(std::vector<int> ranks);  // "0-3", "1,2,2,3"

template <typename Bytes>
double gigabytes(Bytes bytes) {
  return static_cast<double>(bytes) / (1 << 30);
}
template <typename Bytes>
double rounded_gigabytes(Bytes bytes) {
  return rounded(gigabytes(bytes), 3);
}
inline double megabytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

// Text for a terminal of 100 columns.
inline constexpr std::size_t kTerminalColumns = 100;

// Cells under a header and a row of dashes: the first column left-aligned, the others right-aligned, each as wide as
// its longest cell.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

// The same of the cells of each rank: the first column are the ranks, at most `width` wide, that share a row.
std::string ranks_text(std::vector<std::string> header, const std::vector<std::vector<std::string>>& cells,
                       std::size_t width);

// "0-3,8": ascending, each once; cut at `width` with "..." for the rest.
std::string short_ranks(std::vector<int> ranks, std::size_t width);

}  // namespace shardsim::torchrec
