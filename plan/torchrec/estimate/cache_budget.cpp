#include "plan/torchrec/estimate/cache_budget.h"

#include <algorithm>
#include <cstddef>

namespace shardsim::torchrec {
namespace {

constexpr int kPasses = 128;

// One pass over all tables whose cache can grow. False: none is left.
bool spend_once(const std::vector<CacheLine>& tables, std::vector<double>& cache, double& budget) {
  std::vector<bool> growing(tables.size());
  double priorities = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    growing[i] = cache[i] < tables[i].slope;
    if (growing[i]) priorities += tables[i].priority;
  }
  if (priorities <= 0) return false;
  double used = 0, returned = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!growing[i]) continue;
    const double grown = std::min(tables[i].slope, cache[i] + budget * tables[i].priority / priorities);
    used += grown - cache[i];
    cache[i] = grown;
    const double excess = tables[i].start + grown - tables[i].ceiling;
    if (excess <= 0) continue;
    cache[i] = tables[i].slope;
    returned += excess;
  }
  budget = budget - used + returned;
  return true;
}

}  // namespace

std::vector<double> spend_cache_budget(const std::vector<CacheLine>& tables, double budget) {
  std::vector<double> cache;
  for (const CacheLine& table : tables) cache.push_back(table.slope * table.load_factor);
  for (int pass = 0; pass < kPasses && budget > 1; ++pass) {
    if (!spend_once(tables, cache, budget)) break;
  }
  std::vector<double> factors;
  for (std::size_t i = 0; i < tables.size(); ++i) factors.push_back(static_cast<float>(cache[i] / tables[i].slope));
  return factors;
}

}  // namespace shardsim::torchrec
