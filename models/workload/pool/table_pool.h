#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/access/access_distribution.h"

namespace shardsim {

// Reuse of rows in one batch, by the bins of the public data set: bin k counts the rows that are met more than 2^(k-1)
// and at most 2^k times (bin 0: once; the last bin is open).
inline constexpr int kReuseBins = 17;
using ReuseBins = std::array<double, kReuseBins>;

// Published facts about the pool: AutoShard (Zha et al., KDD 2022), table 1, and locality_stats.txt of
// facebookresearch/dlrm_datasets, embedding_bag/2021, fbgemm_t856_bs65536.pt. No list of its tables is public.
struct PoolFacts {
  static constexpr int kTables = 856;
  static constexpr std::int64_t kBatch = 65'536;  // samples
  static constexpr std::int64_t kMostRows = 12'543'670, kMeanRows = 4'107'458;
  static constexpr double kMostPooling = 193.9;          // published as the whole number below it
  static constexpr std::int64_t kLookups = 887'017'990;  // of the batch, over all tables
  static constexpr std::int64_t kDistinct = 128'435'723;
  // Shares of the distinct rows, and of the lookups, by bin; printed to three places.
  static constexpr ReuseBins kDistinctShare{.473, .152, .139, .112, .072, .032, .011, .005, .002, .001};
  static constexpr ReuseBins kLookupShare{.069, .044, .068, .101, .121, .104, .073, .058, .052,
                                          .050, .049, .048, .048, .043, .031, .023, .019};
};

// One table of the pool as one batch of PoolFacts::kBatch samples meets it.
struct PoolTable {
  std::int64_t rows = 0;
  std::int64_t lookups = 0;
  std::int64_t distinct = 0;  // different rows among them
  ReuseBins bins{};           // shares of the distinct rows
  // Expected lookups of each row, heaviest first: ids drawn by them meet about `distinct` rows, in about these bins.
  std::vector<AccessSpec::Step> steps;

  double pooling() const { return static_cast<double>(lookups) / static_cast<double>(PoolFacts::kBatch); }
};

// A pool of tables like MetaSyn, the data of AutoShard and NeuroShard: the published figures are met, the shapes of
// its distributions are guesses (docs/formats/workload.md, a pool of tables). Same seed, same pool.
std::vector<PoolTable> sample_pool(std::uint64_t seed);

// The pool as a workload file: tables t0, t1 ... of 16 columns.
std::string pool_to_yaml(const std::vector<PoolTable>& pool, std::uint64_t seed);

// Its parts.

// Mean number of times that the rows of one bin are met, by the figures of the whole pool.
const ReuseBins& mean_counts();

// Fills `bins` of every table: the shares of the whole pool, tilted by exp(theta x bin) until they say the table's
// reuse (lookups / distinct), all raked until together they are the shares of the whole pool again. A bin in which a
// table would have less than half a row is empty there.
void rake_bins(std::vector<PoolTable>& pool);

// Steps of rows whose ids, drawn one by one, meet `distinct` rows in these bins: a mixture of Poisson rates, found by
// expectation maximisation over all rows of the table, those that are never met among them.
std::vector<AccessSpec::Step> rates_of(const PoolTable& table);

}  // namespace shardsim
