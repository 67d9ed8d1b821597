#include "validate/execute/devices/longest_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/text.h"
#include "validate/execute/kernels/cpu_kernels.h"
#include "validate/execute/meet/clock.h"

namespace shardsim {
namespace {

constexpr double kWorthTiming = 1e9;        // FLOP: less takes no processor a second
constexpr std::int64_t kProductSide = 256;  // of the product that is timed
constexpr int kProductTries = 4;            // the first one warms up

// FLOP per second of the best of a few products.
double product_rate(int threads) {
  const std::vector<float> a(kProductSide * kProductSide, 1), b(kProductSide * kProductSide, 1);
  std::vector<float> c(kProductSide * kProductSide);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kProductTries; ++i) {
    const double start = monotonic_seconds();
    gemm(kProductSide, kProductSide, kProductSide, a.data(), b.data(), c.data(), threads);
    least = std::min(least, monotonic_seconds() - start);
  }
  return 2.0 * static_cast<double>(kProductSide * kProductSide * kProductSide) / std::max(least, 1e-9);
}

double most_flops(const Op& op) {
  return *std::ranges::max_element(op.flops.values);
}

// Without its floating-point operations: a time that was measured elsewhere, and is passed.
double stated_seconds(const Op& op) {
  return static_cast<double>(op.fixed_ns) * 1e-9;
}

}  // namespace

LongestOperation longest_cpu_operation(const Program& program, int threads) {
  LongestOperation longest;
  double rate = 0;
  for (const Op& op : program.ops) {
    if (op.is_collective()) continue;
    const double flops = op.fixed_ns > 0 ? 0 : most_flops(op);
    if (flops >= kWorthTiming && rate == 0) rate = product_rate(threads);
    const double seconds = flops >= kWorthTiming ? flops / rate : stated_seconds(op);
    if (seconds > longest.seconds) longest = {op.name, flops, seconds};
  }
  return longest;
}

namespace {

std::string duration_text(double seconds) {
  constexpr double kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (seconds >= 3 * kDay) return fmt::format("{:.0f} days", seconds / kDay);
  if (seconds >= 3 * kHour) return fmt::format("{:.0f} hours", seconds / kHour);
  return seconds >= 3 * kMinute ? fmt::format("{:.0f} minutes", seconds / kMinute)
                                : fmt::format("{:.0f} seconds", seconds);
}

std::string work_text(double flops) {
  if (flops >= 1e15) return fmt::format("{:.3g} PFLOP", flops * 1e-15);
  return flops >= 1e12 ? fmt::format("{:.3g} TFLOP", flops * 1e-12) : fmt::format("{:.3g} GFLOP", flops * 1e-9);
}

}  // namespace

std::string to_text(const LongestOperation& longest) {
  return fmt::format("operation {}{} takes a rank about {} or more in every iteration", excerpt(longest.name),
                     longest.flops > 0 ? " of " + work_text(longest.flops) : "", duration_text(longest.seconds));
}

void check_longest(const LongestOperation& longest, double most_seconds, const Place& place) {
  if (longest.seconds <= most_seconds) return;
  throw input_error(place, fmt::format("{}, and {} are the most", to_text(longest), duration_text(most_seconds)),
                    "Execute a smaller case, or allow more with --longest-operation SECONDS");
}

}  // namespace shardsim
