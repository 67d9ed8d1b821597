#pragma once

#include <cstdint>
#include <vector>

namespace shardsim {

// A row that an update touches, and the gradient that one lookup of it brings.
struct TouchedRow {
  std::int64_t row = 0;       // running number over the tables of the call
  std::int64_t gradient = 0;  // its first element among the gradients
};

// By row; entries of one row keep their order. Radix sort: the time grows with the entries, not with their disorder.
// `scratch` grows and is overwritten. Rows are at least 0 and below `rows`.
void sort_by_row(std::vector<TouchedRow>& touched, std::vector<TouchedRow>& scratch, std::int64_t rows);

}  // namespace shardsim
