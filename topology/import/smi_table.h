#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace shardsim {

// The matrix of `nvidia-smi topo -m` as text: devices in the order of the header, GPUs first, one cell for each pair.
struct SmiTable {
  struct Row {
    std::string name;
    Place place;
    std::vector<std::string> cells;  // one per device
    std::string numa;                // "" when the row does not say
  };
  std::size_t gpus = 0;
  std::vector<Row> rows;  // as many as devices
  // Headers of further matrices in the text, of which only the first is read, and whether they say the same as it.
  struct Further {
    Place place;
    bool is_equal = false;
  };
  std::vector<Further> further;
};

// Labels of launchers are so many words before each line of the matrix as before its header ("0: ", "[pod/x/main] ").
// Errors (Failure::input): no header, an unknown or missing row, too few cells, over 144 GPUs or 1,024 NICs.
SmiTable parse_smi_table(std::string_view text, const std::string& source);

// Lines without byte order mark, terminal escapes and carriage returns.
std::vector<std::string> plain_lines(std::string_view text);

bool is_gpu_name(std::string_view name);  // "GPU3"

}  // namespace shardsim
