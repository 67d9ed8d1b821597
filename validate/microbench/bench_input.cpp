#include "validate/microbench/bench_input.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "models/access/row_hash.h"
#include "validate/microbench/bench_device.h"

namespace shardsim {
namespace {

constexpr double kTiny = 1e-8;

// (e^x - 1) / x and log(1 + x) / x, also near 0.
double expm1_over(double x) {
  return std::abs(x) > kTiny ? std::expm1(x) / x : 1 + x / 2;
}
double log1p_over(double x) {
  return std::abs(x) > kTiny ? std::log1p(x) / x : 1 - x / 2;
}

constexpr std::int64_t kCachesBetween = 2;  // times the cache's size, as a flush sweeps
constexpr std::int64_t kMostCopies = 512;   // each has allocations of its own, which take longer than a flush

// Keys and numbers before and after sorting, and the starts of runs: 8 + 4 bytes twice, and 4.
constexpr std::int64_t kSortedPair = 28;

std::int64_t touched_of_tables(const BenchPoint& point, const BenchInput& input) {
  std::int64_t rows = 0, states = 0;
  for (std::size_t t = 0; t < point.tables.size(); ++t) {
    const BenchPoint::TableShape& table = point.tables[t];
    rows += input.distinct[t] * table.dim * element_bytes(point.type);
    if (point.has_update()) states += 4 * state_elements(point.optimizer, input.distinct[t], table.dim);
  }
  const auto lookups = static_cast<std::int64_t>(input.indices.size());
  const std::int64_t offsets = point.is_sequence() ? 0 : 8 * static_cast<std::int64_t>(input.offsets.size());
  const std::int64_t ids = (point.weighted ? 12 : 8) * lookups + offsets;
  return rows + states + ids + point.output_bytes() + 4 * point.gradients() +
         (point.has_update() ? kSortedPair * lookups : 0);
}

}  // namespace

ZipfDraw::ZipfDraw(std::int64_t n, double exponent)
    : n_(static_cast<double>(n)),
      exponent_(exponent),
      low_(integral(1.5) - 1),
      high_(integral(n_ + 0.5)),
      sure_(2 - inverse(integral(2.5) - height(2))) {}

double ZipfDraw::integral(double x) const {
  const double log_x = std::log(x);
  return expm1_over((1 - exponent_) * log_x) * log_x;
}

double ZipfDraw::inverse(double y) const {
  const double t = std::max(y * (1 - exponent_), -1.0);
  return std::exp(log1p_over(t) * y);
}

double ZipfDraw::height(double x) const {
  return std::exp(-exponent_ * std::log(x));
}

std::int64_t ZipfDraw::draw(Rng& rng) const {
  while (true) {
    const double y = high_ + rng.uniform() * (low_ - high_);
    const double x = inverse(y);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, n_);
    if (rank - x <= sure_ || y >= integral(rank + 0.5) - height(rank)) return static_cast<std::int64_t>(rank) - 1;
  }
}

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

// Counts how often each row of a table is met, at the place where the row was first seen.
void count_accesses(const BenchPoint& point, BenchInput& input) {
  const auto most_rows = std::ranges::max(point.tables, {}, &BenchPoint::TableShape::rows).rows;
  std::vector<std::uint32_t> met(static_cast<std::size_t>(most_rows));
  std::int64_t all = 0;
  auto at = input.indices.begin();
  for (const auto& table : point.tables) {
    const std::span indices(at, static_cast<std::size_t>(point.batch * table.pooling));
    at += point.batch * table.pooling;
    for (const std::int64_t index : indices) ++met[index];
    std::int64_t& distinct = input.distinct.emplace_back(0);
    for (const std::int64_t index : indices) {
      if (met[index] == 0) continue;
      ++distinct;
      ++input.access_histogram[std::min<int>(static_cast<int>(std::bit_width(met[index] - 1)), kBins - 1)];
      met[index] = 0;
    }
    all += distinct;
  }
  for (double& bin : input.access_histogram) bin /= static_cast<double>(std::max<std::int64_t>(all, 1));
}

}  // namespace

BenchInput draw_input(const BenchPoint& point, std::uint64_t seed) {
  BenchInput input;
  input.access_histogram.assign(kBins, 0);
  if (point.op == BenchOp::sort) {
    Rng rng(mix(seed, kGolden));
    input.indices.resize(static_cast<std::size_t>(point.m));
    for (std::int64_t& key : input.indices)
      key = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(point.k)));
  }
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

std::string_view cache_state_name(CacheState state) {
  if (state == CacheState::warm) return "warm";
  return state == CacheState::rotated ? "rotated" : "flushed";
}

std::int64_t touched_bytes(const BenchPoint& point, const BenchInput& input) {
  if (point.op == BenchOp::gemm) return point.need_bytes();
  if (point.op == BenchOp::sort) return kSortedPair * point.m;
  if (point.is_copy()) return (point.op == BenchOp::copy ? 2 : 1) * point.m;
  return touched_of_tables(point, input);
}

Rotation rotation_of(const BenchDevice& device, const BenchPoint& point, const BenchInput& input) {
  if (point.warm) return {CacheState::warm, 1};
  if (!device.rotates()) return {};
  const std::int64_t touched = std::max<std::int64_t>(touched_bytes(point, input), 1);
  const std::int64_t copies = 1 + (kCachesBetween * device.facts().cache_bytes + touched - 1) / touched;
  if (copies > kMostCopies || copies > device.facts().memory_bytes / 2 / std::max<std::int64_t>(point.need_bytes(), 1))
    return {};
  return {CacheState::rotated, static_cast<int>(copies)};
}

}  // namespace shardsim
