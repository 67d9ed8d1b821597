#include "validate/microbench/rotation.h"

#include <algorithm>

#include "validate/microbench/bench_device.h"

namespace shardsim {
namespace {

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
