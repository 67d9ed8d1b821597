#include "plan/planners/least_loaded.h"

#include <algorithm>
#include <numeric>

namespace shardsim {
namespace {

double table_bytes(const Table& table) {
  return static_cast<double>(table.rows) * static_cast<double>(table.row_bytes());
}

}  // namespace

std::vector<int> least_loaded(const Workload& workload, int places) {
  std::vector<std::size_t> order(workload.tables.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return table_bytes(workload.tables[a]) > table_bytes(workload.tables[b]);
  });
  std::vector<double> load(static_cast<std::size_t>(places), 0.0);
  std::vector<int> place(workload.tables.size());
  for (const std::size_t t : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += table_bytes(workload.tables[t]);
    place[t] = static_cast<int>(least - load.begin());
  }
  return place;
}

}  // namespace shardsim
