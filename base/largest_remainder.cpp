#include "base/largest_remainder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardsim {

std::vector<std::int64_t> split_by_largest_remainder(std::int64_t total, const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> parts(weights.size(), 0);
  if (weights.empty()) return parts;
  std::vector<double> remainders(weights.size(), 0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double weight = sum > 0 ? weights[i] / sum : 1.0 / static_cast<double>(weights.size());
    const double exact = static_cast<double>(total) * weight;
    parts[i] = static_cast<std::int64_t>(std::floor(exact));
    remainders[i] = exact - std::floor(exact);
  }
  std::int64_t left = total - std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  if (left == 0) return parts;
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto earlier = [&](std::size_t a, std::size_t b) {
    return remainders[a] != remainders[b] ? remainders[a] > remainders[b] : a < b;
  };
  if (left > 0 && left < std::ssize(order)) {  // as a rule: which are the largest, in whatever order
    std::ranges::nth_element(order, order.begin() + left, earlier);
  } else {
    std::ranges::sort(order, earlier);
  }
  for (std::size_t i = 0; left > 0; i = (i + 1) % order.size(), --left) ++parts[order[i]];
  // Rounding may have lifted a product over a whole number: take back where the remainder is smallest.
  for (std::size_t i = order.size(); left < 0 && i-- > 0;)
    if (parts[order[i]] > 0) --parts[order[i]], ++left;
  return parts;
}

}  // namespace shardsim
