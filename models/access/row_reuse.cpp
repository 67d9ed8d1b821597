#include "models/access/row_reuse.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace shardsim {
namespace {

// Rows of about the same probability.
struct LikeRows {
  double rows = 0;
  double mean = 0;  // lookups of one of them
};

constexpr double kBlockGrowth = 1.1;    // of the positions of rows that are taken together
constexpr std::uint64_t kSingles = 16;  // of the hottest rows, taken one by one

// The end of the rows that are taken together with the first: all as likely as it, else the next tenth.
std::uint64_t end_of_block(const AccessDistribution& access, std::uint64_t first, std::uint64_t end) {
  const std::uint64_t alike = access.count_at_least(access.probability(first));
  if (alike > first + 1) return std::min(alike, end);
  const auto grown = static_cast<std::uint64_t>(kBlockGrowth * static_cast<double>(first + 1));
  return std::min(first < kSingles ? first + 1 : std::max(grown, first + 1), end);
}

std::vector<LikeRows> blocks_of(const AccessDistribution& access, std::uint64_t first, std::uint64_t end,
                                double draws) {
  std::vector<LikeRows> blocks;
  const double all = access.sum(first, end);
  if (!(all > 0)) return blocks;
  while (first < end) {
    const std::uint64_t upto = end_of_block(access, first, end);
    const auto rows = static_cast<double>(upto - first);
    const double mean = draws * std::max(access.sum(first, upto), 0.0) / all / rows;
    if (!(mean > 0)) break;  // nor will a later row have any
    blocks.push_back({rows, mean});
    first = upto;
  }
  return blocks;
}

// Chances that a row which `mean` lookups want on average gets at most kShortRun - 1 and kShortRun of them (Poisson).
struct ShortChances {
  double one_less = 0, all = 0;
};

ShortChances short_chances(double mean) {
  if (mean > 4 * kShortRun) return {};
  double term = std::exp(-mean), sum = term;
  for (int count = 1; count < kShortRun; ++count) sum += term *= mean / count;
  return {sum, sum + term * mean / kShortRun};
}

void add_runs(const LikeRows& block, RowReuse& reuse) {
  const ShortChances chances = short_chances(block.mean);
  const double longer = block.rows * std::max(1 - chances.all, 0.0);
  reuse.distinct += block.rows * -std::expm1(-block.mean);
  reuse.long_lookups += block.rows * block.mean * std::max(1 - chances.one_less, 0.0);
  reuse.long_rows += longer;
  reuse.long_pieces += longer * std::ceil(std::max(block.mean, 1.0) / kLongestPiece);
  reuse.largest = std::max(reuse.largest, block.mean);
}

// Holds what a row that is kept for `stay` times the lookups of all rows brings: the rows that a cache then holds,
// and the lookups that it misses.
struct CacheState {
  double held = 0, missed = 0;
};

CacheState cache_state(const std::vector<LikeRows>& blocks, double stay) {
  CacheState state;
  for (const LikeRows& block : blocks) {
    const double gone = std::exp(-stay * block.mean);
    state.held += block.rows * (1 - gone);
    state.missed += block.rows * block.mean * gone;
  }
  return state;
}

constexpr double kShortestStay = 1, kStayGrowth = 1.4;  // in lookups
constexpr double kLongestStay = 4;                      // in lookups of all rows

double between(double at, double low, double high, double low_value, double high_value) {
  return high > low ? low_value + (at - low) / (high - low) * (high_value - low_value) : high_value;
}

// Walks over times that rows stay, and notes the misses where the rows held pass the size of the next cache.
void add_misses(const std::vector<LikeRows>& blocks, RowReuse& reuse) {
  int cache = 0;
  double size = 2, before = 0, missed = reuse.lookups;  // sizes in powers of two
  for (double stay = kShortestStay; cache < RowReuse::kCaches && stay < kLongestStay * reuse.lookups;
       stay *= kStayGrowth) {
    const CacheState state = cache_state(blocks, stay / reuse.lookups);
    const double held = std::log2(std::max(state.held, 1.0));
    for (; cache < RowReuse::kCaches && size <= held; ++cache, size += 2)
      reuse.missed[cache] = between(size, before, held, missed, state.missed);
    before = held;
    missed = state.missed;
  }
  for (double& each : reuse.missed) each = std::max(each, reuse.distinct);
}

}  // namespace

double RowReuse::missed_by(double rows) const {
  if (rows >= distinct) return distinct;
  const double place = std::log2(std::max(rows, 1.0)) / 2 - 1;
  if (place <= 0) return lookups + (place + 1) * (missed.front() - lookups);
  const auto below = std::min(static_cast<int>(place), kCaches - 2);
  const double share = std::min(place - below, 1.0);
  return missed[below] + share * (missed[below + 1] - missed[below]);
}

RowReuse row_reuse(const AccessDistribution& access, std::uint64_t first, std::uint64_t end, double draws) {
  RowReuse reuse;
  end = std::min(end, access.rows());
  if (first >= end || !(draws > 0)) return reuse;
  const std::vector<LikeRows> blocks = blocks_of(access, first, end, draws);
  reuse.lookups = draws;
  for (const LikeRows& block : blocks) add_runs(block, reuse);
  reuse.distinct = std::min(reuse.distinct, draws);
  add_misses(blocks, reuse);
  return reuse;
}

}  // namespace shardsim
