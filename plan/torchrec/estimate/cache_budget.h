#pragma once

#include <vector>

namespace shardsim::torchrec {

// Device memory of a cached table as a straight line over its load factor: bytes = slope * load_factor + start.
struct CacheLine {
  double slope = 0, start = 0;
  double ceiling = 0;      // bytes of the table held wholly in device memory
  double load_factor = 0;  // now
  double priority = 0;     // share of the budget: cacheability * expected lookups
};

// Spends `budget` bytes on larger caches (allocate_budget of planner/proposers.py); the load factors after it, rounded
// to single precision. A cache that would take more than the whole table becomes 1.
std::vector<double> spend_cache_budget(const std::vector<CacheLine>& tables, double budget);

}  // namespace shardsim::torchrec
