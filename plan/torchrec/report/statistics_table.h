#pragma once

#include <string>
#include <vector>

#include "plan/torchrec/report/statistics.h"

namespace shardsim::torchrec {

// The cells of a table of the statistics as TorchRec prints it, header first, a row of dashes below it. Every column is
// as wide as its longest cell and 3 more.
struct StatisticsTable {
  std::vector<std::vector<std::string>> rows;

  std::size_t width() const;
};

StatisticsTable rank_table(const Statistics& statistics);  // empty without a plan
StatisticsTable parameter_table(const Statistics& statistics);

// Batch sizes of the table's features, and whether any table states them.
std::string batches_cell(const TableSpec& table);
bool shows_batches(const Statistics& statistics);

// Used bytes over what the planner may use of each rank.
double hbm_share(const Statistics& statistics, std::size_t rank);
double ddr_share(const Statistics& statistics, std::size_t rank);

}  // namespace shardsim::torchrec
