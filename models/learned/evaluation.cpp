#include "models/learned/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "models/learned/fit.h"

namespace shardsim {
namespace {

constexpr double kLeastRatio = 1e-3;         // the published net may predict 0 and less
constexpr std::size_t kMostOrdered = 5'000;  // Kendall's tau looks at every pair

// At most so many of them, evenly spaced.
std::vector<double> thinned(const std::vector<double>& values) {
  const std::size_t step = (values.size() + kMostOrdered - 1) / kMostOrdered;
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); i += step) result.push_back(values[i]);
  return result;
}

template <typename Set, typename Item>
std::vector<std::size_t> labelled_check_items(const Set& set, const std::vector<Item>& items) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (set.labels[i] && held_back(shape_of(items[i]))) result.push_back(i);
  return result;
}

[[noreturn]] void refuse_ranks(const ExchangeSet& set, const std::vector<int>& known) {
  std::string names;
  for (const int one : known) names += fmt::format("{}{}", names.empty() ? "" : " and ", one);
  throw input_error(place_of_labels(set.file),
                    fmt::format("the model has no nets for exchanges of {} ranks", set.law.ranks),
                    names.empty() ? "It has none at all: train with --with EXCHANGES" : "It has them for " + names);
}

}  // namespace

CostErrors cost_errors(const std::vector<double>& predicted, const std::vector<double>& labels) {
  CostErrors errors;
  errors.labels = labels.size();
  if (labels.empty()) return errors;
  const auto count = static_cast<double>(labels.size());
  std::vector<double> relative;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double off_ms = 1e3 * (predicted[i] - labels[i]);
    errors.mean_ms += 1e3 * labels[i] / count;
    errors.mae_ms += std::abs(off_ms) / count;
    errors.mse += off_ms * off_ms / count;
    relative.push_back(100 * std::abs(predicted[i] / labels[i] - 1));
    errors.scale += std::abs(std::log(std::max(predicted[i] / labels[i], kLeastRatio))) / count;
  }
  errors.rmse_ms = std::sqrt(errors.mse);
  errors.median_pct = median(relative);
  errors.p90_pct = quantile(relative, 0.9);
  errors.kendall = kendall_tau_b(thinned(predicted), thinned(labels));
  return errors;
}

std::vector<std::size_t> held_back_items(const ShardSet& set) {
  return labelled_check_items(set, set.shards);
}

std::vector<std::size_t> held_back_items(const ExchangeSet& set) {
  return labelled_check_items(set, set.exchanges);
}

std::vector<ShardSeconds> predicted_seconds(const LearnedCosts& costs, const ShardSet& set,
                                            const std::vector<std::size_t>& items) {
  std::vector<TableStatistics> tables;
  for (const Table& table : set.workload.tables) tables.push_back(table_statistics(table, set.batch));
  std::vector<ShardSeconds> result;
  for (const std::size_t item : items) {
    CostVector sum;
    for (const CallPiece& piece : pieces_of(set.shards[item], tables, set.workload, costs.row_alignment()))
      LearnedCosts::add(sum, costs.vector_of(piece));
    result.push_back(costs.seconds_of(sum));
  }
  return result;
}

std::vector<ExchangeSeconds> predicted_seconds(const LearnedCosts& costs, const ExchangeSet& set,
                                               const std::vector<std::size_t>& items) {
  const std::vector<int> known = costs.exchange_ranks();
  if (!std::ranges::count(known, set.law.ranks)) refuse_ranks(set, known);
  std::vector<ExchangeSeconds> result;
  for (const std::size_t item : items) {
    const Exchange& exchange = set.exchanges[item];
    std::vector<double> starts = exchange.starts_ms;
    for (double& start : starts) start *= 1e-3;
    ExchangeSeconds seconds{std::vector<double>(starts.size()), std::vector<double>(starts.size())};
    costs.forward_exchanges(set.law.ranks, exchange.columns, starts, seconds.forward);
    costs.backward_exchanges(set.law.ranks, exchange.columns, seconds.backward);
    result.push_back(std::move(seconds));
  }
  return result;
}

}  // namespace shardsim
