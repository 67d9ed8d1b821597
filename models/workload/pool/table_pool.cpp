#include "models/workload/pool/table_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "base/text.h"
#include "models/access/normal_quantile.h"

namespace shardsim {
namespace {

constexpr std::size_t kTables = PoolFacts::kTables;
constexpr double kMostDistinct = 0.5;         // of a table's rows
constexpr double kMostReuseOfRows = 1000;     // of a row, on average: more is no reuse of rows but of the whole table
constexpr double kSigma = 1.5, kMu = 1.8763;  // of the logarithm of the pooling factors

using Counts = std::vector<std::int64_t>;

// Fisher and Yates's shuffle.
void shuffle(Counts& values, Rng rng) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.below(i)]);
}

// Whole numbers near `exact` times one factor that add up to `total`; `low` and `high` at either end stay. `exact`
// rises; what rounding leaves over goes, one each, to the largest of those between.
Counts scaled_to(const std::vector<double>& exact, std::int64_t low, std::int64_t high, std::int64_t total) {
  const double free = std::accumulate(exact.begin() + 1, exact.end() - 1, 0.0);
  const double factor = static_cast<double>(total - low - high) / free;
  Counts whole{low};
  for (std::size_t i = 1; i + 1 < exact.size(); ++i)
    whole.push_back(std::clamp<std::int64_t>(std::llround(factor * exact[i]), 1, high));
  whole.push_back(high);
  std::int64_t left = total - std::accumulate(whole.begin(), whole.end(), std::int64_t{0});
  for (std::size_t i = whole.size() - 2; left != 0; i = i > 1 ? i - 1 : whole.size() - 2) {
    const std::int64_t one = left > 0 ? 1 : -1;
    if (whole[i] + one > high || whole[i] + one < 1) continue;
    whole[i] += one;
    left -= one;
  }
  return whole;
}

// Rising; a power of the place whose exponent gives the mean.
Counts sample_rows() {
  const auto most = static_cast<double>(PoolFacts::kMostRows), mean = static_cast<double>(PoolFacts::kMeanRows);
  std::vector<double> exact;
  for (std::size_t i = 0; i < kTables; ++i)
    exact.push_back(most * std::pow((static_cast<double>(i) + 0.5) / kTables, most / mean - 1));
  return scaled_to(exact, 1, PoolFacts::kMostRows, PoolFacts::kMeanRows * PoolFacts::kTables);
}

// Rising; log-normal pooling factors, cut off at the largest, times the batch.
Counts sample_lookups() {
  const auto batch = static_cast<double>(PoolFacts::kBatch);
  std::vector<double> exact;
  for (std::size_t i = 0; i < kTables; ++i) {
    const double z = normal_quantile((static_cast<double>(i) + 0.5) / kTables);
    exact.push_back(batch * std::min(std::exp(kMu + kSigma * z), PoolFacts::kMostPooling));
  }
  return scaled_to(exact, 1, std::llround(batch * PoolFacts::kMostPooling), PoolFacts::kLookups);
}

double most_distinct(const PoolTable& table) {
  return std::max(1.0, std::floor(kMostDistinct * static_cast<double>(table.rows)));
}

bool too_hot(const PoolTable& table) {
  return static_cast<double>(table.lookups) > kMostReuseOfRows * most_distinct(table);
}

// The fewest lookups go to the table of one row; and where the rows of a table would be met over and over, it trades
// its lookups with another table that is drawn, so that neither is too hot.
void deal_lookups(std::vector<PoolTable>& pool, Rng rng) {
  const auto row = std::ranges::min_element(pool, {}, &PoolTable::rows);
  const auto none = std::ranges::min_element(pool, {}, &PoolTable::lookups);
  std::swap(row->lookups, none->lookups);
  for (PoolTable& table : pool) {
    while (too_hot(table)) {
      PoolTable& other = pool[rng.below(pool.size())];
      if (&other == &*row) continue;
      std::swap(table.lookups, other.lookups);
      if (too_hot(table) || too_hot(other)) std::swap(table.lookups, other.lookups);
    }
  }
}

double distinct_at(const PoolTable& table, double per_lookup) {
  return std::clamp(per_lookup * static_cast<double>(table.lookups), 1.0, most_distinct(table));
}

// In proportion to the lookups as far as the rows go, all together the published number.
void deal_distinct(std::vector<PoolTable>& pool) {
  double low = 0, high = 1;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (const PoolTable& table : pool) sum += distinct_at(table, middle);
    (sum < static_cast<double>(PoolFacts::kDistinct) ? low : high) = middle;
  }
  std::int64_t left = PoolFacts::kDistinct;
  for (PoolTable& table : pool) left -= table.distinct = std::llround(distinct_at(table, low));
  for (std::size_t i = 0; left != 0; i = (i + 1) % pool.size()) {
    const std::int64_t one = left > 0 ? 1 : -1;
    if (pool[i].distinct < 1000 || pool[i].distinct + one > static_cast<std::int64_t>(most_distinct(pool[i]))) continue;
    pool[i].distinct += one;
    left -= one;
  }
}

constexpr const char* kHead =
    R"(# Made by: shardsim workload sample pool --seed {}
# A pool of tables like MetaSyn, the data of AutoShard (Zha et al., KDD 2022) and NeuroShard (Zha et al., MLSys 2023), of
# which no list is public. Published are, and met here: 856 tables; rows: at most 12,543,670, mean 4,107,458, at least 1;
# mean pooling factor: at most 193, mean 15, at least 0, as whole numbers (AutoShard, table 1); 887,017,990 lookups in a
# batch of 65,536 and 128,435,723 different rows among them, and by how often rows are met in a batch the shares of the
# rows and of the lookups (facebookresearch/dlrm_datasets, embedding_bag/2021, locality_stats.txt of
# fbgemm_t856_bs65536.pt). The shapes are guesses: rows by a power of the place, pooling factors log-normal and
# independent of the rows, different rows in proportion to the lookups. Which table is which says nothing. The table of
# one row has one lookup in a batch, as none cannot be simulated. weights are lookups of a row in a batch of 65,536;
# dims are those of tasks (shardsim workload sample tasks).
schema: shardsim.workload/1
name: metasyn_{}
summary: A pool of {} tables with the published figures of MetaSyn; shapes are guesses
batch_per_gpu: 65536
optimizer: {{name: sgd}}
tables:
)";

std::string table_line(const PoolTable& table, std::size_t index) {
  std::vector<std::uint64_t> rows;
  std::vector<std::string> weights;
  for (const AccessSpec::Step& step : table.steps) {
    rows.push_back(step.rows);
    weights.push_back(shortest(step.weight));
  }
  return fmt::format(
      "  - {{name: t{}, rows: {}, dim: 16, kind: pooled, pooling_factor: {}, access: {{family: steps, rows: [{}], "
      "weights: [{}]}}}}\n",
      index, table.rows, shortest(table.pooling()), fmt::join(rows, ", "), fmt::join(weights, ", "));
}

}  // namespace

std::vector<PoolTable> sample_pool(std::uint64_t seed) {
  Counts rows = sample_rows(), lookups = sample_lookups();
  shuffle(rows, Rng(mix(seed, 1)));
  shuffle(lookups, Rng(mix(seed, 2)));
  std::vector<PoolTable> pool(kTables);
  for (std::size_t i = 0; i < kTables; ++i) {
    pool[i].rows = rows[i];
    pool[i].lookups = lookups[i];
  }
  deal_lookups(pool, Rng(mix(seed, 3)));
  deal_distinct(pool);
  rake_bins(pool);
  for (PoolTable& table : pool) table.steps = rates_of(table);
  return pool;
}

std::string pool_to_yaml(const std::vector<PoolTable>& pool, std::uint64_t seed) {
  std::string text = fmt::format(kHead, seed, pool.size(), pool.size());
  for (std::size_t i = 0; i < pool.size(); ++i) text += table_line(pool[i], i);
  return text;
}

}  // namespace shardsim
