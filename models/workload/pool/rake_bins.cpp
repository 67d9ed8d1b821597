#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "models/workload/pool/table_pool.h"

namespace shardsim {
namespace {

constexpr int kRakes = 300;
constexpr int kTailBin = 10;        // from here on the printed shares of distinct rows are 0.000
constexpr double kLeastRows = 0.5;  // that a table needs in a bin to have it
constexpr double kHotter = 4;       // bins up to so many times a table's mean count are its own in any case

double sum_of(const ReuseBins& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double lower_edge(int bin) {
  return bin == 0 ? 0 : std::ldexp(1.0, bin - 1);
}

double pool_reuse() {
  return static_cast<double>(PoolFacts::kLookups) / static_cast<double>(PoolFacts::kDistinct);
}

double lookup_share(int bin) {
  return PoolFacts::kLookupShare.at(static_cast<std::size_t>(bin)) / sum_of(PoolFacts::kLookupShare);
}

// Shares of the distinct rows in the whole pool: as printed, and where 0.000 is printed, such that the lookups fit a
// log-uniform law inside the bin. The open last bin takes the lookups that are left.
ReuseBins pool_bins() {
  const ReuseBins& means = mean_counts();
  ReuseBins shares = PoolFacts::kDistinctShare;
  double tail = 0;
  for (int k = kTailBin; k < kReuseBins; ++k) tail += shares[k] = lookup_share(k) * pool_reuse() / means[k];
  const double head = sum_of(PoolFacts::kDistinctShare);
  for (int k = 0; k < kTailBin; ++k) shares[k] *= (1 - tail) / head;
  double rest = pool_reuse();
  for (int k = 0; k + 1 < kReuseBins; ++k) rest -= shares[k] * means[k];
  shares.back() = rest / means.back();
  return shares;
}

// The tilt of `base` at which the mean count is `reuse`; a table so cold or hot that no tilt says it has one bin.
ReuseBins tilted(const ReuseBins& base, double reuse) {
  const ReuseBins& means = mean_counts();
  ReuseBins result{};
  double low = -20, high = 20;
  for (int step = 0; step < 60; ++step) {
    const double factor = std::exp((low + high) / 2);
    double power = 1, sum = 0, counts = 0;
    for (int k = 0; k < kReuseBins; ++k, power *= factor) {
      result[k] = base[k] * power;
      sum += result[k];
      counts += result[k] * means[k];
    }
    for (double& share : result) share /= sum;
    (counts < reuse * sum ? low : high) = (low + high) / 2;
  }
  return result;
}

double reuse_of(const PoolTable& table) {
  return static_cast<double>(table.lookups) / static_cast<double>(table.distinct);
}

// 1 for the bins that a table can have.
ReuseBins bins_of(const PoolTable& table, const ReuseBins& shares) {
  ReuseBins has{};
  for (int k = 0; k < kReuseBins; ++k)
    has[k] =
        static_cast<double>(table.distinct) * shares[k] >= kLeastRows || mean_counts()[k] <= kHotter * reuse_of(table);
  if (table.distinct == table.lookups) has = {1};
  return has;
}

}  // namespace

const ReuseBins& mean_counts() {
  static const ReuseBins kMeans = [] {
    ReuseBins means{1, 2};
    for (int k = 2; k < kReuseBins; ++k) {
      const double edge = lower_edge(k);
      const double printed = PoolFacts::kDistinctShare[k];
      means[k] = edge / std::numbers::ln2;
      if (printed > 0) means[k] = std::clamp(lookup_share(k) / printed * pool_reuse(), edge + 1, 2 * edge);
    }
    return means;
  }();
  return kMeans;
}

void rake_bins(std::vector<PoolTable>& pool) {
  const ReuseBins wanted = pool_bins();
  ReuseBins base = wanted;
  for (int round = 0; round < kRakes; ++round) {
    ReuseBins rows{};
    for (PoolTable& table : pool) {
      ReuseBins own = bins_of(table, wanted);
      for (int k = 0; k < kReuseBins; ++k) own[k] *= base[k];
      table.bins = tilted(own, reuse_of(table));
      for (int k = 0; k < kReuseBins; ++k) rows[k] += static_cast<double>(table.distinct) * table.bins[k];
    }
    for (int k = 0; k < kReuseBins; ++k)
      if (rows[k] > 0) base[k] *= wanted[k] * static_cast<double>(PoolFacts::kDistinct) / rows[k];
  }
}

}  // namespace shardsim
