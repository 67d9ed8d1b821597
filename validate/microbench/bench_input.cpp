#include "validate/microbench/bench_input.h"

#include <algorithm>
#include <bit>

#include "plan/row_hash.h"
#include "validate/microbench/zipf_draw.h"

namespace shardsim {
namespace {

constexpr int kBins = 17;

void draw_table(const BenchPoint& point, const BenchPoint::TableShape& table, std::uint64_t seed,
                std::vector<std::int64_t>& indices) {
  Rng rng(mix(seed, kGolden));
  const auto rows = static_cast<std::uint64_t>(table.rows);
  const std::int64_t count = point.batch * table.pooling;
  if (!(point.law.zipf > 0)) {
    for (std::int64_t i = 0; i < count; ++i) indices.push_back(static_cast<std::int64_t>(rng.below(rows)));
    return;
  }
  const ZipfDraw zipf(table.rows, point.law.zipf);
  for (std::int64_t i = 0; i < count; ++i)
    indices.push_back(static_cast<std::int64_t>(permute(static_cast<std::uint64_t>(zipf.draw(rng)), rows, seed)));
}

// How often each row of one table is met, counted where the row was first seen.
class AccessCounter {
 public:
  explicit AccessCounter(std::int64_t most_rows) : counts_(static_cast<std::size_t>(most_rows)) {}

  std::int64_t count(std::span<const std::int64_t> indices, std::vector<double>& bins) {
    for (const std::int64_t index : indices) ++counts_[index];
    std::int64_t distinct = 0;
    for (const std::int64_t index : indices) {
      if (counts_[index] == 0) continue;
      ++distinct;
      ++bins[std::min<int>(static_cast<int>(std::bit_width(counts_[index] - 1)), kBins - 1)];
      counts_[index] = 0;
    }
    return distinct;
  }

 private:
  std::vector<std::uint32_t> counts_;
};

void count_accesses(const BenchPoint& point, BenchInput& input) {
  std::int64_t most_rows = 0, all = 0;
  for (const auto& table : point.tables) most_rows = std::max(most_rows, table.rows);
  AccessCounter counter(most_rows);
  const std::int64_t* at = input.indices.data();
  for (const auto& table : point.tables) {
    const auto count = static_cast<std::size_t>(point.batch * table.pooling);
    input.distinct.push_back(counter.count({at, count}, input.access_histogram));
    all += input.distinct.back();
    at += count;
  }
  for (double& bin : input.access_histogram) bin /= static_cast<double>(std::max<std::int64_t>(all, 1));
}

}  // namespace

BenchInput draw_input(const BenchPoint& point, std::uint64_t seed) {
  BenchInput input;
  input.access_histogram.assign(kBins, 0);
  if (!point.has_tables()) return input;
  input.indices.reserve(static_cast<std::size_t>(point.lookups()));
  input.offsets.push_back(0);
  for (std::size_t t = 0; t < point.tables.size(); ++t) {
    draw_table(point, point.tables[t], mix(seed, t + 1), input.indices);
    for (std::int64_t bag = 0; bag < point.batch; ++bag)
      input.offsets.push_back(input.offsets.back() + point.tables[t].pooling);
  }
  count_accesses(point, input);
  return input;
}

}  // namespace shardsim
