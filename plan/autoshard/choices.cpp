#include "plan/autoshard/choices.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "plan/autoshard/exponential.h"

namespace shardsim {

int drawn_rank(std::span<const float> scores, Rng& rng) {
  const double highest = *std::ranges::max_element(scores);
  std::vector<double> sums;
  double sum = 0;
  for (const float score : scores) sums.push_back(sum += exponential(score - highest));
  const double at = rng.uniform() * sum;
  const auto found = std::ranges::find_if(sums, [&](double upto) { return at < upto; });
  return static_cast<int>(std::min<std::ptrdiff_t>(found - sums.begin(), std::ssize(sums) - 1));
}

void add_choice_gradient(std::span<const float> logits, int chosen, double advantage, double entropy_weight,
                         std::vector<float>& gradient) {
  const double highest = *std::ranges::max_element(logits);
  std::vector<double> shares;
  double sum = 0, mean_logit = 0;
  for (const float logit : logits) sum += shares.emplace_back(exponential(logit - highest));
  for (std::size_t r = 0; r < logits.size(); ++r) mean_logit += (shares[r] /= sum) * logits[r];
  for (std::size_t r = 0; r < logits.size(); ++r) {
    const double taken = static_cast<int>(r) == chosen ? 1 : 0;
    const double entropy = shares[r] * (logits[r] - mean_logit);
    gradient.push_back(static_cast<float>(advantage * (shares[r] - taken) + entropy_weight * entropy));
  }
}

void clip_norm(std::vector<float>& gradient, double most) {
  double square = 0;
  for (const float value : gradient) square += static_cast<double>(value) * value;
  const double norm = std::sqrt(square);
  if (norm <= most) return;
  for (float& value : gradient) value = static_cast<float>(value * (most / norm));
}

std::vector<int> falling(std::span<const float> values) {
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](int i) { return values[static_cast<std::size_t>(i)]; });
  return order;
}

}  // namespace shardsim
