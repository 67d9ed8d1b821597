#include "models/access/row_lines.h"

#include <bit>
#include <cmath>

namespace shardsim {
namespace {

// Rows behind each other, after which those of 16 bytes or more begin as the first one does.
constexpr int kPhases = 8;
constexpr std::int64_t kElement = 4, kColumnsAtOnce = 4;
constexpr double kWholeNumbers = 0x1p53;  // up to which each has a double of its own

// Returns the bytes modulo the farthest alignment; for whole numbers this costs a fraction of what it does for others,
// so they have a way of their own.
std::int64_t left_beyond_alignment(double bytes) {
  if (bytes >= 0 && bytes < kWholeNumbers) return static_cast<std::int64_t>(bytes) % kFarthestAlignment;
  return static_cast<std::int64_t>(std::fmod(bytes, kFarthestAlignment));
}

}  // namespace

double touched_bytes(std::int64_t bytes, std::int64_t offset, std::int64_t stride, std::int64_t line) {
  const auto line_bits = std::countr_zero(static_cast<std::uint64_t>(line));  // a division would take most of the time
  const auto lines_from = [&](std::int64_t place) { return ((place & (line - 1)) + bytes + line - 1) >> line_bits; };
  if ((stride & (line - 1)) == 0)
    return static_cast<double>(lines_from(offset) * line);  // all rows lie as the first one
  std::int64_t lines = 0;
  for (int phase = 0; phase < kPhases; ++phase, offset += stride) lines += lines_from(offset);
  return static_cast<double>(lines * line) / kPhases;
}

RowLines expected_lines(std::int64_t row_bytes, std::int64_t vector_bytes) {
  const auto mean = [](std::int64_t bytes, std::int64_t step, std::int64_t line) {
    double sum = 0;
    for (std::int64_t offset = 0; offset < line; offset += step) sum += touched_bytes(bytes, offset, bytes, line);
    return sum * static_cast<double>(step) / static_cast<double>(line);
  };
  return {mean(row_bytes, kElement, kGpuMemoryLine), mean(row_bytes, kElement, kGpuCacheLine),
          mean(vector_bytes, kColumnsAtOnce * kElement, kGpuCacheLine)};
}

void CallPlaces::pass(double table_bytes, std::int64_t vector_bytes) {
  const std::int64_t bytes = left_beyond_alignment(table_bytes);
  rows_ = (rows_ + (bytes + alignment_ - 1) / alignment_ * alignment_) % kFarthestAlignment;
  vector_ += vector_bytes;
}

}  // namespace shardsim
