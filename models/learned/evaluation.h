#pragma once

#include <vector>

#include "models/learned/label_sets.h"
#include "models/learned/learned_costs.h"

namespace shardsim {

// Errors of predictions against labels, both in seconds; all 0 when there are no labels.
struct CostErrors {
  std::size_t labels = 0;
  double mean_ms = 0;          // of the labels
  double mae_ms = 0, mse = 0;  // mean absolute error; mean square in ms^2
  double rmse_ms = 0;
  double median_pct = 0, p90_pct = 0;  // of the relative errors without their sign
  double scale = 0;                    // mean of |ln(label / predicted)|
  double kendall = 0;                  // tau-b of the order; of more than 5,000 labels, of every so many-th

  double rmse_pct() const { return mean_ms > 0 ? 100 * rmse_ms / mean_ms : 0; }
};
CostErrors cost_errors(const std::vector<double>& predicted, const std::vector<double>& labels);

// Positions of the labelled items that no fit looked at.
std::vector<std::size_t> held_back_items(const ShardSet& set);
std::vector<std::size_t> held_back_items(const ExchangeSet& set);

// Predictions for those shards of the set, asked for as planners do.
std::vector<ShardSeconds> predicted_seconds(const LearnedCosts& costs, const ShardSet& set,
                                            const std::vector<std::size_t>& items);
// The same of exchanges. Errors (Failure::input): costs without nets for so many ranks; they are named.
std::vector<ExchangeSeconds> predicted_seconds(const LearnedCosts& costs, const ExchangeSet& set,
                                               const std::vector<std::size_t>& items);

}  // namespace shardsim
