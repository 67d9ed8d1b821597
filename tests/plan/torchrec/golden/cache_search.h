#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace shardsim::golden {

// The clamped Luus-Jaakola search of planner/utils.py for the least value of a function of one variable on [left,
// right]: ask `next` for a probe, hand it the value there, and so on.
class LuusJaakola {
 public:
  LuusJaakola(double left, double right, int max_iterations, std::uint32_t seed = 42,
              std::optional<double> left_cost = std::nullopt);

  // The next probe; `value` is the function at the last one (ignored on the first call). nullopt: no more.
  std::optional<double> next(double value);
  // Nothing right of `bound` is allowed any more.
  void shrink_right(double bound);

 private:
  double uniform(double from, double to);
  void judge(double value);
  void record_bound(double value);
  std::optional<double> draw();

  double left_, right_;
  int max_iterations_;
  std::mt19937 random_;
  std::optional<double> left_cost_, right_cost_;
  double x_ = 0, fx_ = 0;  // best so far
  double y_ = 0;           // last probe
  double reach_ = 0;       // of the next draw to both sides of x
  int calls_ = 0;
};

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

}  // namespace shardsim::golden
