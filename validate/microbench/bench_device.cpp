#include "validate/microbench/bench_device.h"

#include <algorithm>
#include <cmath>

namespace shardsim {
namespace {

constexpr int kLimitRuns = 7;
constexpr std::int64_t kMostStreamed = std::int64_t{1} << 30;

std::int64_t whole_lines(std::int64_t bytes) {
  return std::max(bytes / kCacheLine, std::int64_t{1}) * kCacheLine;
}

}  // namespace

void BenchDevice::prepare(const BenchPoint& point, const BenchInput& input) {
  release();
  point_ = point;
  lookups_ = static_cast<std::int64_t>(input.indices.size());
  if (point.op == BenchOp::gemm) {
    const ElementType type = elements_of(point.precision);
    of_.a = numbers(point.m * point.k, type);
    of_.b = numbers(point.k * point.n, type);
    of_.out = memory(element_bytes(type) * point.m * point.n, "a product");
  } else if (point.op == BenchOp::sort) {
    of_.indices = uploaded(input.indices, "keys");
  } else if (point.is_copy()) {
    of_.out = memory(point.m, "the target of a copy");
    if (point.op == BenchOp::copy) of_.a = numbers(point.m / 4);
  } else {
    const bool kept = point.type == kept_type_ && point.table_bytes() <= kept_.bytes();
    of_.arena = kept ? kept_ : filled_tables(point.type, point.table_bytes());
    of_.indices = uploaded(input.indices, "indices");
    of_.offsets = uploaded(input.offsets, "offsets");
    if (point.weighted) of_.weights = numbers(lookups_);
    of_.out = memory(point.output_bytes(), "rows or pooled rows");
    of_.state = memory(point.state_bytes(), "optimizer states");
    of_.gradients = numbers(point.gradients());
  }
  made_ready();
}

void BenchDevice::give_ids(const BenchInput& input) {
  upload(of_.indices.as<void>(), input.indices.data(), static_cast<std::int64_t>(8 * input.indices.size()));
}

double BenchDevice::run_us() {
  return run_us(point_.op);
}

double BenchDevice::run_us(BenchOp half) {
  return timed_us([&] { call(half); });
}

void BenchDevice::keep_tables(ElementType type, std::int64_t bytes) {
  release();
  kept_ = {};
  kept_ = filled_tables(type, bytes);
  kept_type_ = type;
}

void BenchDevice::flush() {
  if (swept_.bytes() == 0) swept_ = memory(whole_lines(2 * facts_.cache_bytes), "the flush");
  sweep(swept_);
}

double BenchDevice::copy_bandwidth() {
  release();
  const DeviceMemory from = numbers(limits_.copied / 4), to = memory(limits_.copied, "the target of a copy");
  const double us = best_us([&] { return timed_us([&] { copy(to.as<void>(), from.as<void>(), limits_.copied); }); });
  return 2 * static_cast<double>(limits_.copied) / us * 1e6;
}

double BenchDevice::cache_bandwidth() {
  release();
  const std::int64_t bytes = whole_lines(facts_.cache_bytes / 4);
  const DeviceMemory buffer = numbers(bytes / 4);
  const double us = best_us([&] { return timed_us([&] { read(buffer.as<void>(), bytes, limits_.cache_passes); }); });
  return limits_.cache_passes * static_cast<double>(bytes) / us * 1e6;
}

double BenchDevice::launch_floor_us() {
  return best_us([&] { return timed_us([&] { do_nothing(); }); });
}

double BenchDevice::read_us(std::int64_t bytes) {
  release();
  const std::int64_t part = whole_lines(std::min(bytes, kMostStreamed));
  const auto passes = static_cast<int>((bytes + kMostStreamed - 1) / kMostStreamed);
  const DeviceMemory buffer = numbers(part / 4);
  const double us = best_us([&] {
    flush();
    return timed_us([&] { read(buffer.as<void>(), part, passes); });
  });
  return us * static_cast<double>(bytes) / (static_cast<double>(part) * passes);
}

void BenchDevice::call(BenchOp op) {
  switch (op) {
    case BenchOp::lookup:
      return lookup();
    case BenchOp::update:
      return update();
    case BenchOp::lookup_update:
      lookup();
      return update();
    case BenchOp::gather:
      return gather();
    case BenchOp::scatter:
      return scatter();
    case BenchOp::gemm:
      return gemm();
    case BenchOp::sort:
      return sort();
    case BenchOp::copy:
      return copy(of_.out.as<void>(), of_.a.as<void>(), point_.m);
    case BenchOp::to_device:
      return copy_to_device(point_.m);
    case BenchOp::to_host:
      return copy_to_host(point_.m);
  }
}

double BenchDevice::best_us(const std::function<double()>& once) const {
  double best = HUGE_VAL;
  for (int run = 0; run < kLimitRuns; ++run) best = std::min(best, once());
  return best;
}

// `count` numbers that are not all alike.
DeviceMemory BenchDevice::numbers(std::int64_t count, ElementType type) {
  DeviceMemory made = memory(element_bytes(type) * count, "numbers");
  fill(type, count, made.as<void>());
  return made;
}

DeviceMemory BenchDevice::filled_tables(ElementType type, std::int64_t bytes) {
  DeviceMemory made = memory(bytes, "tables");
  fill(type, bytes / element_bytes(type), made.as<void>());
  return made;
}

DeviceMemory BenchDevice::uploaded(const std::vector<std::int64_t>& values, const char* what) {
  const auto bytes = static_cast<std::int64_t>(8 * values.size());
  DeviceMemory made = memory(bytes, what);
  upload(made.as<void>(), values.data(), bytes);
  return made;
}

}  // namespace shardsim
