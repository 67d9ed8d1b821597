#include "tests/plan/torchrec/golden/cache_search.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace shardsim::golden {
namespace {

constexpr double kContraction = 0.95;  // of the reach when a probe is better
constexpr int kDraws = 100000;

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

LuusJaakola::LuusJaakola(double left, double right, int max_iterations, std::uint32_t seed,
                         std::optional<double> left_cost)
    : left_(left), right_(right), max_iterations_(max_iterations), random_(seed), left_cost_(left_cost) {
  x_ = uniform(left, right);
  reach_ = right - left;
}

// As torch draws a single-precision number: 24 bits of the next output.
double LuusJaakola::uniform(double from, double to) {
  constexpr double kSteps = 1 << 24;
  return from + (to - from) * (static_cast<double>(random_() & 0xFFFFFFU) / kSteps);
}

void LuusJaakola::judge(double value) {
  if (calls_ == 1) {
    fx_ = value;
  } else if (value <= fx_) {
    x_ = y_;
    fx_ = value;
    reach_ = kContraction * reach_;
  }
}

void LuusJaakola::record_bound(double value) {
  if (y_ == left_) {
    left_cost_ = value;
  } else if (y_ == right_) {
    right_cost_ = value;
  }
}

// TorchRec draws until it meets a point that it does not know; on an interval of one known point that is for ever.
std::optional<double> LuusJaakola::draw() {
  for (int i = 0; i < kDraws; ++i) {
    const double probe = std::clamp(x_ + uniform(-reach_, reach_), left_, right_);
    const bool known = (probe == left_ && left_cost_) || (probe == right_ && right_cost_);
    if (!known) return probe;
  }
  return std::nullopt;
}

std::optional<double> LuusJaakola::next(double value) {
  if (calls_ == 0) {
    ++calls_;
    return y_ = x_;
  }
  if (calls_ == max_iterations_) return std::nullopt;
  judge(value);
  record_bound(value);
  ++calls_;
  const std::optional<double> probe = draw();
  if (probe) y_ = *probe;
  return probe;
}

void LuusJaakola::shrink_right(double bound) {
  right_ = bound;
  right_cost_ = std::numeric_limits<double>::infinity();
  reach_ = right_ - left_;
  x_ = std::clamp(x_, left_, right_);
}

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

}  // namespace shardsim::golden
