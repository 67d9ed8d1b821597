#include <algorithm>
#include <cmath>

#include "models/workload/workload_parts.h"

namespace shardsim {
namespace {

// The factor of a sample, which is 1 on average, stretches the bags of common lengths.
double factor_variance(const Workload& workload) {
  return workload.sample_factor ? std::expm1(workload.sample_factor->sigma * workload.sample_factor->sigma) : 0;
}

// The items that a sample has of one table. The variance of a bag beyond that of a Poisson law grows with the square of
// its mean, so a factor stretches it once more.
Cumulants items_of_sample(const Table& table, double of_factor) {
  Cumulants sum;
  for (const Feature& feature : table.features) {
    const Cumulants bag = table.length_law(feature).cumulants();
    const double over = std::max(0.0, bag.variance - bag.mean);
    sum.mean += bag.mean;
    sum.variance += bag.variance + (table.lengths.common ? of_factor * over : 0);
    sum.third += bag.third;
  }
  return sum;
}

bool may_vary(const Table& table) {
  return table.lengths.family != "file" && (table.lengths.common || table.lengths.family != "fixed");
}

void vary(Attention& attention, const Workload& workload) {
  const double of_factor = factor_variance(workload);
  double common = 0;  // items of common lengths
  for (const int index : attention.tables) {
    const Table& table = workload.tables[static_cast<std::size_t>(index)];
    if (!may_vary(table)) continue;
    const Cumulants items = items_of_sample(table, of_factor);
    attention.variance += items.variance;
    common += table.lengths.common ? items.mean : 0;
    attention.varying.push_back({index, items.mean, items.variance > 0 ? items.third / items.variance : 0});
  }
  attention.variance += of_factor * common * common;
  for (Attention::Varying& each : attention.varying) {
    if (workload.tables[static_cast<std::size_t>(each.table)].lengths.common)
      each.skew += common * of_factor * (of_factor + 3);  // that of the log-normal factor
  }
}

}  // namespace

// The totals are known, the samples' parts of them are not: sums of squares follow from the best linear estimate, in
// which an item more than expected brings cov(L^2, l) / var(l) = 2 E L + E (l - E l)^3 / var(l). Even parts have the
// fewest pairs.
double Attention::pairs_of(double samples, const std::vector<double>& items_by_table) const {
  double more = 0, weighted = 0;
  for (const Varying& each : varying) {
    const double items = items_by_table[static_cast<std::size_t>(each.table)] - samples * each.mean;
    more += items;
    weighted += items * (2 * length + each.skew);
  }
  const double estimate = samples * pairs() + (causal ? (weighted + more) / 2 : weighted);
  return std::max(estimate, samples * pairs_of(std::max(0.0, length + more / samples)));
}

void vary_attention(Workload& workload) {
  for (DenseLayer& layer : workload.dense.layers) {
    if (layer.attention) vary(*layer.attention, workload);
  }
}

}  // namespace shardsim
