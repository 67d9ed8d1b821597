#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/workload/pool/table_pool.h"

namespace shardsim {
namespace {

constexpr int kMeansFrom = 5;                  // first bin whose mean count is a rate of its own
constexpr int kExpectationRounds = 600;        // of expectation maximisation
constexpr std::int64_t kMostPerDistinct = 12;  // rows that may be met, for each that is
constexpr double kHot = 64;                    // lookups from which a row's count hardly varies

// The fates of a row, in this order: never met, then met as often as each of the bins says.
constexpr int kFates = kReuseBins + 1;
using Fates = std::array<double, kFates>;

// Probabilities of the fates of a row whose count is Poisson with this mean.
Fates fates_at(double rate) {
  Fates fates{};
  if (rate > 700) {  // e^-rate underflows; the count is near its mean
    fates[static_cast<std::size_t>(std::min(1 + static_cast<int>(std::ceil(std::log2(rate))), kFates - 1))] = 1;
    return fates;
  }
  double chance = std::exp(-rate);
  fates[0] = chance;
  int bin = 0;
  for (int count = 1; count < 2048; ++count) {
    chance *= rate / count;
    while (count > 1 << bin) ++bin;
    fates[static_cast<std::size_t>(bin) + 1] += chance;
  }
  return fates;
}

// The rates that steps may have, falling, 0 last: the mean counts of the upper bins, then halves.
std::vector<double> rate_grid() {
  std::vector<double> rates;
  for (int bin = kReuseBins - 1; bin >= kMeansFrom; --bin) rates.push_back(std::round(mean_counts()[bin]));
  for (const double rate : {16.0, 12.0, 8.0, 6.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.5, 0.25, 0.125, 0.0625, 0.0})
    rates.push_back(rate);
  return rates;
}

struct Grid {
  std::vector<double> rates = rate_grid();
  std::vector<Fates> fates;
  Grid() {
    for (const double rate : rates) fates.push_back(fates_at(rate));
  }
};

// Rows of the table by what becomes of them.
Fates wanted_of(const PoolTable& table) {
  Fates wanted{static_cast<double>(std::min(table.rows, kMostPerDistinct * table.distinct) - table.distinct)};
  for (int k = 0; k < kReuseBins; ++k)
    wanted[static_cast<std::size_t>(k) + 1] = static_cast<double>(table.distinct) * table.bins[k];
  return wanted;
}

// Rows at each rate under which what is wanted is most likely.
std::vector<double> most_likely(const Grid& grid, const Fates& wanted) {
  const double all = std::accumulate(wanted.begin(), wanted.end(), 0.0);
  std::vector<double> rows(grid.rates.size(), all / static_cast<double>(grid.rates.size()));
  for (int round = 0; round < kExpectationRounds; ++round) {
    Fates ratio{};
    for (int fate = 0; fate < kFates; ++fate) {
      double expected = 0;
      for (std::size_t j = 0; j < rows.size(); ++j) expected += rows[j] * grid.fates[j][fate];
      ratio[fate] = expected > 0 ? wanted[fate] / expected : 0;
    }
    for (std::size_t j = 0; j < rows.size(); ++j) {
      double factor = 0;
      for (int fate = 0; fate < kFates; ++fate) factor += ratio[fate] * grid.fates[j][fate];
      rows[j] *= factor;
    }
  }
  return rows;
}

// The distinct rows and lookups that are left for rows of small rates once the hot ones are whole rows.
struct Left {
  double distinct = 0, lookups = 0;
};

// Whole rows at hot rates, from the hottest down; the lookups that rounding takes go to the next rate.
Left round_hot(const Grid& grid, const PoolTable& table, std::vector<double>& rows) {
  Left left{static_cast<double>(table.distinct), static_cast<double>(table.lookups)};
  double carried = 0;
  for (std::size_t j = 0; grid.rates[j] >= kHot; ++j) {
    const double exact = rows[j] + carried / grid.rates[j];
    rows[j] = std::min(std::round(exact), std::floor(left.lookups / grid.rates[j]));
    carried = (exact - rows[j]) * grid.rates[j];
    left.distinct -= rows[j];
    left.lookups -= rows[j] * grid.rates[j];
  }
  return left;
}

// Multiplies the rows at small rates by exp(a + b log2 rate), so that distinct rows and lookups come out: Newton's
// method from where the likelihood left them.
void meet_totals(const Grid& grid, const Left& left, std::vector<double>& rows) {
  for (int step = 0; step < 30; ++step) {
    double met = 0, met_b = 0, sum = 0, sum_b = 0;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const double rate = grid.rates[j];
      if (rate >= kHot || rate == 0) continue;
      const double octave = std::log2(rate), once = rows[j] * -std::expm1(-rate), lookups = rows[j] * rate;
      met += once;
      met_b += once * octave;
      sum += lookups;
      sum_b += lookups * octave;
    }
    const double determinant = met * sum_b - sum * met_b;
    if (!(std::abs(determinant) > 1e-9 * met * sum)) return;
    const double a = ((left.distinct - met) * sum_b - (left.lookups - sum) * met_b) / determinant;
    const double b = (met * (left.lookups - sum) - sum * (left.distinct - met)) / determinant;
    for (std::size_t j = 0; j < rows.size(); ++j)
      if (grid.rates[j] < kHot && grid.rates[j] > 0)
        rows[j] *= std::exp(std::clamp(a + b * std::log2(grid.rates[j]), -1.0, 1.0));
  }
}

}  // namespace

std::vector<AccessSpec::Step> rates_of(const PoolTable& table) {
  static const Grid kGrid;
  std::vector<double> rows = most_likely(kGrid, wanted_of(table));
  meet_totals(kGrid, round_hot(kGrid, table, rows), rows);
  std::vector<AccessSpec::Step> steps;
  std::int64_t free = table.rows;
  double carried = 0;
  for (std::size_t j = 0; j < rows.size() && kGrid.rates[j] > 0 && free > 0; ++j) {
    const double exact = rows[j] + carried;
    const std::int64_t whole = std::clamp<std::int64_t>(std::llround(exact), 0, free);
    carried = kGrid.rates[j] < kHot ? exact - static_cast<double>(whole) : 0;
    free -= whole;
    if (whole > 0) steps.push_back({static_cast<std::uint64_t>(whole), kGrid.rates[j]});
  }
  if (steps.empty()) steps.push_back({1, 1});
  return steps;
}

}  // namespace shardsim
