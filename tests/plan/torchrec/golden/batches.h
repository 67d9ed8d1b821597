#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "plan/torchrec/report/statistics.h"

namespace shardsim::torchrec {

// Batch sizes of the features, which no workload of ours states by table, as TorchRec's report has them.

// "512 * 2, 256*3": equal sizes joined, the last ones without blanks.
inline std::string batches_cell(const TableSpec& table) {
  if (table.batch_sizes.empty()) return "n/a";
  std::vector<std::pair<double, int>> runs;
  for (const double batch : table.batch_sizes) {
    if (runs.empty() || runs.back().first != batch) runs.emplace_back(batch, 0);
    ++runs.back().second;
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string size = shortest(runs[i].first);
    const char* times = i + 1 < runs.size() ? " * " : "*";
    parts.push_back(runs[i].second == 1 ? size : fmt::format("{}{}{}", size, times, runs[i].second));
  }
  return join(parts);
}

inline bool shows_batches(const Statistics& statistics) {
  return std::any_of(statistics.tables.begin(), statistics.tables.end(),
                     [](const TableStatistics& row) { return !row.table->batch_sizes.empty(); });
}

}  // namespace shardsim::torchrec
