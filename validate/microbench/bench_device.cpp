#include "validate/microbench/bench_device.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace shardsim {
namespace {

constexpr int kLimitRuns = 7;
constexpr std::int64_t kMostStreamed = std::int64_t{1} << 30;

// A part of memory that was made for several begins at a multiple of this, as an allocation may, and vectors of a GPU's
// loads do.
constexpr std::int64_t kAlignment = 256;
std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

DeviceMemory some_of(const DeviceMemory& kept, std::int64_t bytes) {
  if (bytes > kept.bytes()) throw run_error("a point needs more memory than was kept for it", "");
  return kept.part(0, bytes);
}

std::int64_t whole_lines(std::int64_t bytes) {
  return std::max(bytes / kCacheLine, std::int64_t{1}) * kCacheLine;
}

}  // namespace

void BenchDevice::prepare(const BenchPoint& point, const BenchInput& input, int copies) {
  kept_for_ = {};
  kept_ = {};
  release();
  point_ = point;
  lookups_ = static_cast<std::int64_t>(input.indices.size());
  copies_.assign(static_cast<std::size_t>(copies), {});
  current_ = 0;
  using Memory = PointMemory;
  if (point.op == BenchOp::gemm) {
    const ElementType type = elements_of(point.precision);
    give_numbers(&Memory::a, point.m * point.k, type);
    give_numbers(&Memory::b, point.k * point.n, type);
    give_zeros(&Memory::out, element_bytes(type) * point.m * point.n, "a product");
  } else if (point.op == BenchOp::sort) {
    give_values(&Memory::indices, input.indices, "keys");
  } else if (point.is_copy()) {
    give_zeros(&Memory::out, point.m, "the target of a copy");
    if (point.op == BenchOp::copy) give_numbers(&Memory::a, point.m / 4);
  } else {
    give_numbers(&Memory::arena, point.table_bytes() / element_bytes(point.type), point.type);
    give_values(&Memory::indices, input.indices, "indices");
    give_values(&Memory::offsets, input.offsets, "offsets");
    if (point.weighted) give_numbers(&Memory::weights, lookups_);
    give_zeros(&Memory::out, point.output_bytes(), "rows or pooled rows");
    give_zeros(&Memory::state, point.state_bytes(), "optimizer states");
    give_numbers(&Memory::gradients, point.gradients());
  }
  made_ready();
}

double BenchDevice::run_us(int calls) {
  return timed_us(calls,
                  [&] {
                    call(point_.op);
                    next_copy();
                  }) /
         calls;
}

double BenchDevice::run_us(BenchOp half) {
  return timed_us(1, [&] { call(half); });
}

void BenchDevice::keep(const DrawnNeed& most, const std::vector<PositionDraw>& laws) {
  kept_for_ = {};
  kept_ = {};
  release();
  kept_.arena = numbers(most.table_bytes / element_bytes(most.type), most.type);
  kept_.state = memory(most.state_bytes, "optimizer states");
  kept_.out = memory(most.output_bytes, "pooled rows");
  kept_.gradients = numbers(most.gradients);
  kept_.indices = memory(8 * most.lookups, "indices");
  kept_.offsets = memory(8 * most.offsets, "offsets");
  kept_for_ = most;
  laws_ = &laws;
}

void BenchDevice::prepare_drawn(const BenchPoint& point, const DrawnIds& ids) {
  release();
  point_ = point;
  drawn_ = ids;
  lookups_ = ids.count;
  current_ = 0;
  PointMemory& all = copies_.front();
  all.arena = some_of(kept_.arena, point.table_bytes());
  all.state = some_of(kept_.state, point.state_bytes());
  all.out = some_of(kept_.out, point.output_bytes());
  all.gradients = some_of(kept_.gradients, 4 * point.gradients());
  all.indices = some_of(kept_.indices, 8 * ids.count);
  all.offsets = some_of(kept_.offsets, 8 * ids.offsets());
  made_ready();
  laws_changed();
}

void BenchDevice::begin_drawn(std::uint64_t salt, bool flushed) {
  draw(salt);
  run_halves(flushed);
}

void BenchDevice::draw(std::uint64_t salt) {
  const BenchInput input = shardsim::draw(drawn_, *laws_, salt);
  upload(of().indices.as<void>(), input.indices.data(), of().indices.bytes());
  upload(of().offsets.as<void>(), input.offsets.data(), of().offsets.bytes());
}

void BenchDevice::run_halves(bool flushed) {
  if (flushed) flush();
  const double lookup_us = run_us(BenchOp::lookup);
  if (flushed) flush();
  halves_.push_back({lookup_us, run_us(BenchOp::update)});
}

void BenchDevice::flush() {
  sweep(swept());
}

const DeviceMemory& BenchDevice::swept() {
  if (swept_.bytes() == 0) swept_ = memory(whole_lines(2 * facts_.cache_bytes), "the flush");
  return swept_;
}

double BenchDevice::copy_bandwidth() {
  release();
  const DeviceMemory from = numbers(limits_.copied / 4), to = memory(limits_.copied, "the target of a copy");
  const double us = best_us([&] { return timed_us(1, [&] { copy(to.as<void>(), from.as<void>(), limits_.copied); }); });
  return 2 * static_cast<double>(limits_.copied) / us * 1e6;
}

double BenchDevice::cache_bandwidth() {
  release();
  const std::int64_t bytes = whole_lines(facts_.cache_bytes / 4);
  const DeviceMemory buffer = numbers(bytes / 4);
  const double us = best_us([&] { return timed_us(1, [&] { read(buffer.as<void>(), bytes, limits_.cache_passes); }); });
  return limits_.cache_passes * static_cast<double>(bytes) / us * 1e6;
}

double BenchDevice::launch_floor_us() {
  return best_us([&] { return timed_us(1, [&] { do_nothing(); }); });
}

double BenchDevice::read_us(std::int64_t bytes) {
  release();
  const std::int64_t part = whole_lines(std::min(bytes, kMostStreamed));
  const auto passes = static_cast<int>((bytes + kMostStreamed - 1) / kMostStreamed);
  const DeviceMemory buffer = numbers(part / 4);
  const double us = best_us([&] {
    flush();
    return timed_us(1, [&] { read(buffer.as<void>(), part, passes); });
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
      return copy(of().out.as<void>(), of().a.as<void>(), point_.m);
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

// Hands every copy its part of what was made for all of them at once.
void BenchDevice::deal(Member member, const DeviceMemory& all, std::int64_t bytes) {
  for (std::size_t copy = 0; copy < copies_.size(); ++copy)
    copies_[copy].*member = all.part(static_cast<std::int64_t>(copy) * aligned(bytes), bytes);
}

void BenchDevice::give_zeros(Member member, std::int64_t bytes, const char* what) {
  deal(member, memory(static_cast<std::int64_t>(copies_.size()) * aligned(bytes), what), bytes);
}

void BenchDevice::give_numbers(Member member, std::int64_t count, ElementType type) {
  const std::int64_t bytes = element_bytes(type) * count;
  give_zeros(member, bytes, "numbers");
  fill(type, count, (copies_.front().*member).as<void>());
  repeat(member);
}

// Every copy as the first one.
void BenchDevice::repeat(Member member) {
  const DeviceMemory& first = copies_.front().*member;
  for (std::size_t at = 1; at < copies_.size() && first.bytes() > 0; ++at)
    copy((copies_[at].*member).as<void>(), first.as<void>(), first.bytes());
}

void BenchDevice::give_values(Member member, const std::vector<std::int64_t>& values, const char* what) {
  const auto bytes = static_cast<std::int64_t>(8 * values.size());
  give_zeros(member, bytes, what);
  for (const PointMemory& copy : copies_) upload((copy.*member).as<void>(), values.data(), bytes);
}

}  // namespace shardsim
