#include "validate/execute/devices/longest_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/text.h"
#include "validate/execute/kernels/cpu_kernels.h"
#include "validate/execute/meet/clock.h"

namespace shardsim {
namespace {

constexpr double kWorthTiming = 1e9;                    // FLOP or bytes: less takes no processor a second
constexpr std::int64_t kProductSide = 256;              // of the product that is timed
constexpr std::size_t kCopied = std::size_t{16} << 20;  // bytes of the copy that is timed, as those of the dense part
constexpr int kTries = 4;                               // the first one warms up

template <typename Body>
double least_seconds(const Body& body) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const double start = monotonic_seconds();
    body();
    least = std::min(least, monotonic_seconds() - start);
  }
  return std::max(least, 1e-9);
}

// FLOP per second of the best of a few products.
double product_rate(int threads) {
  const std::vector<float> a(kProductSide * kProductSide, 1), b(kProductSide * kProductSide, 1);
  std::vector<float> c(kProductSide * kProductSide);
  const double seconds =
      least_seconds([&] { gemm(kProductSide, kProductSide, kProductSide, a.data(), b.data(), c.data(), threads); });
  return 2.0 * static_cast<double>(kProductSide * kProductSide * kProductSide) / seconds;
}

// Bytes per second, of which a copy reads as many as it writes: of one thread, as the executor copies.
double byte_rate() {
  const std::vector<std::byte> from(kCopied, std::byte{1});
  std::vector<std::byte> to(kCopied);
  const double seconds = least_seconds([&] { std::memcpy(to.data(), from.data(), kCopied); });
  return 2.0 * static_cast<double>(kCopied) / seconds;
}

// The FLOP of a rank in an operation, and the bytes that it moves through memory (RankOps and FusedLookup have the
// same).
struct RankWork {
  double flops = 0, bytes = 0;
};

// The products that the operation names are multiplied, whatever the number of its floating-point operations says.
double flops_on(const Op& op, std::size_t position) {
  double flops = 0;
  if (op.flops.at(position) <= 0) return 0;
  for (const OpProduct& product : op.products) {
    flops += 2 * product.m.at(position) * product.n.at(position) * product.k.at(position) * product.count;
  }
  return flops > 0 ? flops : op.flops.at(position);
}

// Rows are read and written once. A Program says more of them, such as the sorting on a GPU, which is not done here.
double row_bytes_on(const Program& program, const Op& op, std::size_t position) {
  std::int64_t widest = 0;
  for (const int shard : op.shards) {
    widest = std::max(widest, program.shard(shard).columns() * dtype_bytes(program.table_of(shard).dtype));
  }
  return 2 * op.lookups.at(position) * static_cast<double>(widest);
}

RankWork work_on(const Program& program, const Op& op, std::size_t position) {
  if (op.op_class != OpClass::dense && op.fusion >= 0) return {0, row_bytes_on(program, op, position)};
  if (const double crossing = op.host_bytes.at(position); crossing > 0) return {0, 2 * crossing};
  return {flops_on(op, position), op.hbm_bytes.at(position)};
}

// The speed of this machine, measured where it is asked for first.
class Speed {
 public:
  explicit Speed(int threads) : threads_(threads) {}

  double seconds(const RankWork& work) {
    double seconds = 0;
    if (work.flops >= kWorthTiming) {
      if (flops_ == 0) flops_ = product_rate(threads_);
      seconds += work.flops / flops_;
    }
    if (work.bytes >= kWorthTiming) {
      if (bytes_ == 0) bytes_ = byte_rate();
      seconds += work.bytes / bytes_;
    }
    return seconds;
  }

 private:
  int threads_;
  double flops_ = 0, bytes_ = 0;  // per second; 0: not measured yet
};

// Returns the operation on the slowest of the ranks that have numbers of their own.
LongestOperation longest_rank(const Program& program, const Op& op, Speed& speed) {
  LongestOperation longest;
  std::size_t count = 1;
  for (const PerRank* const numbers : {&op.flops, &op.hbm_bytes, &op.host_bytes, &op.lookups}) {
    count = std::max(count, numbers->values.size());
  }
  for (const OpProduct& product : op.products) {
    count = std::max({count, product.m.values.size(), product.n.values.size(), product.k.values.size()});
  }
  for (std::size_t position = 0; position < count; ++position) {
    const RankWork work = work_on(program, op, position);
    const double seconds = speed.seconds(work);
    if (seconds > longest.seconds) longest = {op.name, work.flops, seconds, work.bytes};
  }
  return longest;
}

}  // namespace

LongestOperation longest_cpu_operation(const Program& program, int threads) {
  LongestOperation longest;
  Speed speed(threads);
  for (const Op& op : program.ops) {
    if (op.is_collective()) continue;
    // A time that was measured elsewhere is passed, and nothing is computed or moved.
    LongestOperation of_op{op.name, 0, static_cast<double>(op.fixed_ns) * 1e-9, 0};
    if (op.fixed_ns <= 0) of_op = longest_rank(program, op, speed);
    if (of_op.seconds > longest.seconds) longest = of_op;
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

std::string amount_text(double amount, const char* unit) {
  if (amount >= 1e15) return fmt::format("{:.3g} P{}", amount * 1e-15, unit);
  return amount >= 1e12 ? fmt::format("{:.3g} T{}", amount * 1e-12, unit)
                        : fmt::format("{:.3g} G{}", amount * 1e-9, unit);
}

// The amounts that are large enough to take the time.
std::string work_text(const LongestOperation& of) {
  std::vector<std::string> parts;
  if (of.flops >= kWorthTiming) parts.push_back(amount_text(of.flops, "FLOP"));
  if (of.bytes >= kWorthTiming) parts.push_back(amount_text(of.bytes, "B"));
  return parts.empty() ? "" : " of " + join(parts, " and ");
}

}  // namespace

std::string to_text(const LongestOperation& longest) {
  return fmt::format("operation {}{} takes a rank about {} or more in every iteration", excerpt(longest.name),
                     work_text(longest), duration_text(longest.seconds));
}

void check_longest(const LongestOperation& longest, double most_seconds, const Place& place) {
  if (longest.seconds <= most_seconds) return;
  throw input_error(place, fmt::format("{}, and {} are the most", to_text(longest), duration_text(most_seconds)),
                    "Execute a smaller case, or allow more with --longest-operation SECONDS");
}

}  // namespace shardsim
