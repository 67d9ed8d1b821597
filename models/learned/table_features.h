#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/access/row_lines.h"
#include "models/access/row_reuse.h"
#include "models/workload/workload.h"

namespace shardsim {

inline constexpr int kCountBins = 17;

// Shares of the distinct rows that one batch meets once, twice, 3-4, 5-8, ... 16385-32768 times, and more often.
using CountBins = std::array<double, kCountBins>;

// The bins of a table that `lookups` ids are drawn from, each by itself: a row's count is binomial. Expected rows per
// bin over expected distinct rows, in closed form over intervals of rows, within 0.01 a bin; all 0 without lookups.
CountBins expected_count_bins(const AccessDistribution& access, double lookups);

// The figures of a table that learned costs use, without its columns: a part of the columns has the same figures.
struct TableStatistics {
  double rows = 0;     // at least 100, as the papers' data have it; 100 where nothing is looked up
  double pooling = 0;  // mean lookups per sample
  int dtype_bytes = 4;
  CountBins bins{};
  double batch = 0;     // samples of one lookup
  double lookups = 0;   // ids of one lookup of the batch
  double distinct = 0;  // rows among them
  RowReuse reuse;       // how often those ids come back to a row
  bool operator==(const TableStatistics&) const = default;
};

// The figures of one lookup of `batch` samples (table-wise and column-wise: the batch of all ranks). A call takes some
// tens of microseconds, so ask once per table. Errors (Failure::input, at the table): a sequence, which has no pooling
// factor; a table whose file does not state its access.
TableStatistics table_statistics(const Table& table, std::int64_t batch);

inline constexpr std::int64_t kVectorElementBytes = 4;  // vectors are fp32

// Rows that a table has at least, as NeuroShard counts them (gen_dlrm_data.py: row = max(100, largest index + 1)).
inline constexpr double kFewestStatisticRows = 100;

// In which order a model takes which features.
enum class FeatureLayout {
  neuroshard,  // 20: bin_0, bin_1, bin_10 ... bin_16, bin_2 ... bin_9, dim, pooling_factor, row: keys sorted as strings
  autoshard,   // 21: dim, row, pooling_factor (whole), size (GiB), bin_0 ... bin_16
  measured,    // 5, ours, for times of real machines: logarithms of what caches and address translation depend on
  batches      // 16, ours: the batch, the reuse of rows, their lines and the order among them, so that one model serves
               // several batches
};

// True for the layouts whose net is a FactorNet.
inline bool has_factors(FeatureLayout layout) {
  return layout == FeatureLayout::measured || layout == FeatureLayout::batches;
}

std::vector<std::string> words_of(FeatureLayout layout);
const std::vector<std::string>& feature_names(FeatureLayout layout);

// Some columns of a table as a part of a call.
struct CallPiece {
  TableStatistics table;
  std::int64_t columns = 0;
  RowLines lines =
      {};  // as it lies in the call; all 0: that is not known, and `batches` takes the mean over all places
  // The part of the call's work that is done when this piece is, 1 for the last one: pieces run one after the other. 0:
  // the order is not known, and `batches` takes the mean over all places.
  double place = 0;
  bool operator==(const CallPiece&) const = default;
};

// Says of the pieces of a call, in its order, which lines they touch and what is done when they are. `rows`: of the
// table of each. `row_alignment`: at whose multiples of bytes tables begin; 0: that is not known, and nothing is said.
void lay_out(std::vector<CallPiece>& pieces, const std::vector<double>& rows, int row_alignment);

// The features of a piece, one per name. (daochenzha/neuroshard at ec7ca74 and daochenzha/autoshard at e861ecb,
// gen_dlrm_data.py.)
std::vector<float> table_features(const CallPiece& piece, FeatureLayout layout);

// The amounts that a piece adds to its shard's sums, for the layouts `measured`, which takes the first
// four, and `batches`. Features are logarithms and do not add
// up. Each amount is in a unit that makes a shard of some tables about 1.
struct PieceAmounts {
  static constexpr int kCount = 11;
  enum : std::size_t {
    work,         // lookups times one and their lines of 64 bytes, in millions
    touched,      // bytes of the different rows, of 32 MiB
    lookups,      // of 100,000
    pieces,       // 1/8 for itself
    bags,         // of 100,000
    vectors,      // bytes of them, of 32 MiB
    widest,       // (columns / 64)^8: of such a sum the widest piece is nearly all
    rows,         // of a million: how many bits a sort looks at
    longest_run,  // (lookups of the most popular row / 32)^4, as the widest
    longest_bag,  // (pooling / 16)^4
    last_bag      // (pooling / 16 x place^4)^4: a long bag at the end has nothing beside it
  };
  // The power of each sum that a net takes: such that it speaks of one piece where the sum is that of powers.
  static constexpr std::array<float, kCount> kPowers{1, 1, 1, 1, 1, 1, 0.125F, 1, 0.25F, 0.25F, 0.25F};
};
std::array<float, PieceAmounts::kCount> table_amounts(const CallPiece& piece, FeatureLayout layout);

}  // namespace shardsim
