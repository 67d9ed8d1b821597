#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardsim {
namespace {

// Products of deviations from the means; ranks of n values have the mean (n + 1) / 2, ties or not.
double co_deviation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean = (static_cast<double>(a.size()) + 1) / 2;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean) * (b[i] - mean);
  return sum;
}

int order(double a, double b) {
  return (a > b) - (a < b);
}

}  // namespace

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle : (*std::max_element(values.begin(), middle) + *middle) / 2;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double nearest_quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> sorted(values.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, last = 0; first < sorted.size(); first = last) {
    while (last < sorted.size() && values[sorted[last]] == values[sorted[first]]) ++last;
    for (std::size_t i = first; i < last; ++i) ranks[sorted[i]] = static_cast<double>(first + last + 1) / 2;
  }
  return ranks;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> ranks_a = ranks_of(a);
  const std::vector<double> ranks_b = ranks_of(b);
  const double spread = std::sqrt(co_deviation(ranks_a, ranks_a) * co_deviation(ranks_b, ranks_b));
  return spread > 0 ? co_deviation(ranks_a, ranks_b) / spread : 0;
}

double kendall_tau_b(const std::vector<double>& a, const std::vector<double>& b) {
  double agreement = 0, untied_a = 0, untied_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      const int in_a = order(a[i], a[j]);
      const int in_b = order(b[i], b[j]);
      agreement += in_a * in_b;
      untied_a += in_a != 0 ? 1 : 0;
      untied_b += in_b != 0 ? 1 : 0;
    }
  }
  const double pairs = std::sqrt(untied_a * untied_b);
  return pairs > 0 ? agreement / pairs : 0;
}

IterationSpread iteration_spread(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double error = values.size() > 1 ? std::sqrt(squares / (n - 1) / n) : 0;
  return {mean, quantile(values, 0.5), quantile(values, 0.05), quantile(values, 0.95), error};
}

}  // namespace shardsim
