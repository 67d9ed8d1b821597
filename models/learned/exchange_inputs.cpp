#include "models/learned/exchange_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/learned/cost_model.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostListedRanks = 8;
constexpr std::size_t kOfColumns = 3, kOfStarts = 2;  // numbers of a rank's own row

}  // namespace

bool ExchangeInputs::lists_ranks() const {
  return ranks_ <= kMostListedRanks;
}

std::size_t ExchangeInputs::width(bool forward) const {
  if (lists_ranks()) return forward ? 2 * ranks_ : ranks_;
  return forward ? kOfColumns + kOfStarts : kOfColumns;
}

std::vector<DenseLayerShape> ExchangeInputs::layers(bool forward) const {
  const int inputs = static_cast<int>(width(forward));
  if (!lists_ranks()) return {{inputs, 64, true}, {64, 32, true}, {32, 1, false}};
  return exchange_layers(inputs, static_cast<int>(ranks_));
}

void ExchangeInputs::add(std::span<const double> columns, std::span<const double> starts_ms,
                         std::vector<float>& rows) const {
  const auto put = [&](double number) { rows.push_back(static_cast<float>(number)); };
  if (lists_ranks()) {
    std::ranges::for_each(columns, put);
    std::ranges::for_each(starts_ms, put);
    return;
  }
  const double most = std::ranges::max(columns);
  const double mean = std::accumulate(columns.begin(), columns.end(), 0.0) / static_cast<double>(ranks_);
  const double latest = starts_ms.empty() ? 0 : std::ranges::max(starts_ms);
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    for (const double number : {columns[rank], most, mean}) put(number);
    if (starts_ms.empty()) continue;
    for (const double number : {starts_ms[rank], latest}) put(number);
  }
}

std::string exchange_topology(const Cluster& cluster) {
  const std::string& name = cluster.spec().name;
  return cluster.nodes() == 1 ? name : fmt::format("{} of {} nodes", name, cluster.nodes());
}

}  // namespace shardsim
