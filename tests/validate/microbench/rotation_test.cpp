#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "validate/microbench/bench_input.h"
#include "validate/microbench/microbench.h"

namespace shardsim::rotation_test {
namespace {

constexpr std::int64_t kCache = std::int64_t{1} << 20;

DeviceFacts facts_with(std::int64_t memory) {
  DeviceFacts facts;
  facts.cache_bytes = kCache;
  facts.memory_bytes = memory;
  return facts;
}

// Computes nothing and notes which memory it was told to use; every call takes 10 us.
class NotingDevice final : public BenchDevice {
 public:
  explicit NotingDevice(std::int64_t memory = std::int64_t{1} << 30, bool rotates = true)
      : BenchDevice(facts_with(memory), {1024, 1}), rotates_(rotates) {}
  bool rotates() const override { return rotates_; }

  std::vector<const void*> tables, outputs, states;  // of the calls, in their order
  std::vector<int> together;                         // calls of each timing
  int flushes = 0;

 private:
  DeviceMemory memory(std::int64_t bytes, const char*) override {
    return {std::shared_ptr<void>(std::calloc(static_cast<std::size_t>(bytes + 1), 1), std::free), bytes};
  }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    std::copy_n(static_cast<const std::byte*>(from), bytes, static_cast<std::byte*>(to));
  }
  void fill(ElementType, std::int64_t, void*) override {}
  double timed_us(int calls, const std::function<void()>& call) override {
    together.push_back(calls);
    for (int i = 0; i < calls; ++i) call();
    return 10.0 * calls;
  }
  void do_nothing() override {}
  void copy(void*, const void*, std::int64_t) override {}
  void read(const void*, std::int64_t, int) override {}
  void sweep(const DeviceMemory&) override { ++flushes; }
  void lookup() override { note(); }
  void update() override { note(); }
  void gather() override { note(); }
  void scatter() override { note(); }
  void gemm() override { note(); }
  void note() {
    tables.push_back(of().arena.as<void>());
    outputs.push_back(of().out.as<void>());
    states.push_back(of().state.as<void>());
  }

  bool rotates_;
};

// 64 bags of 4 rows of 64 bytes out of 1,000.
BenchPoint lookups() {
  BenchPoint point;
  point.tables = {{1000, 16, 4}};
  point.batch = 64;
  return point;
}

MicrobenchOptions few() {
  MicrobenchOptions options;
  options.warmup = 2;
  options.repetitions = 5;
  return options;
}

std::size_t different(const std::vector<const void*>& addresses) {
  return std::set<const void*>(addresses.begin(), addresses.end()).size();
}

}  // namespace

TEST_CASE("a call touches each of its different rows once, its ids and its output") {
  const BenchPoint point = lookups();
  const BenchInput input = draw_input(point, 1);
  CHECK(input.distinct[0] < 256);  // some come twice
  CHECK(touched_bytes(point, input) == input.distinct[0] * 64 + 8 * 256 + 8 * 65 + 64 * 64);
  BenchPoint update = point;
  update.op = BenchOp::update;
  update.optimizer = RowOptimizer::adagrad;
  // Rows and as much state, ids, gradients of every bag, and sorted pairs.
  CHECK(touched_bytes(update, input) == input.distinct[0] * 128 + 8 * 256 + 8 * 65 + 64 * 64 + 28 * 256);
  BenchPoint product;
  product.op = BenchOp::gemm;
  product.m = 8, product.n = 4, product.k = 2;
  CHECK(touched_bytes(product, {}) == 4 * (16 + 8 + 32));
}

TEST_CASE("there are as many copies as put twice the cache between two uses of one") {
  NotingDevice device;
  BenchPoint copy;
  copy.op = BenchOp::copy;
  const auto copies = [&](std::int64_t bytes) {
    copy.m = bytes;  // touches twice as many
    return rotation_of(device, copy, {}).copies;
  };
  CHECK(copies(kCache) == 2);
  CHECK(copies(16 * kCache) == 2);
  CHECK(copies(kCache / 2) == 3);
  CHECK(copies(kCache / 2 - 64) == 4);
  CHECK(copies(kCache / 100) == 102);
  for (const std::int64_t bytes : {kCache, kCache / 3, kCache / 7, kCache / 100})
    CHECK((copies(bytes) - 1) * 2 * bytes >= 2 * kCache);
}

TEST_CASE("what does not rotate is flushed, and what is to be warm is neither") {
  BenchPoint point = lookups();
  const BenchInput input = draw_input(point, 1);
  const std::int64_t copies = 1 + (2 * kCache + touched_bytes(point, input) - 1) / touched_bytes(point, input);
  const auto state = [&](const BenchDevice& device) { return rotation_of(device, point, input).state; };
  CHECK(state(NotingDevice(2 * copies * point.need_bytes())) == CacheState::rotated);
  CHECK(state(NotingDevice(2 * copies * point.need_bytes() - 2)) == CacheState::flushed);  // memory
  CHECK(state(NotingDevice(std::int64_t{1} << 40, false)) == CacheState::flushed);
  point.batch = 1;  // some 600 copies
  CHECK(rotation_of(NotingDevice(), point, draw_input(point, 1)).state == CacheState::flushed);
  point.warm = true;
  CHECK(rotation_of(NotingDevice(), point, input).state == CacheState::warm);
  CHECK(rotation_of(NotingDevice(), point, input).copies == 1);
}

TEST_CASE("calls use the copies in turn, several between two events, and nothing is flushed") {
  NotingDevice device;
  BenchPoint point = lookups();
  point.op = BenchOp::scatter;
  point.optimizer = RowOptimizer::adagrad;
  const MeasuredPoint measured = measure_point(device, point, few(), {});
  CHECK(measured.rotation.state == CacheState::rotated);
  const auto copies = static_cast<std::size_t>(measured.rotation.copies);
  REQUIRE(device.tables.size() == 2 + 5 * 10);  // 10 calls of 10 us are 100
  CHECK(measured.calls == 10);
  CHECK(device.together == std::vector<int>{1, 1, 10, 10, 10, 10, 10});
  CHECK(measured.samples_us == std::vector<double>(5, 10.0));
  CHECK(device.flushes == 0);
  for (const auto& addresses : {device.tables, device.states}) {
    CHECK(different(addresses) == std::min(copies, addresses.size()));
    for (std::size_t call = copies; call < addresses.size(); ++call) CHECK(addresses[call] == addresses[call - copies]);
  }
}

TEST_CASE("copies do not overlap") {
  NotingDevice device;
  const BenchPoint point = lookups();
  const BenchInput input = draw_input(point, 1);
  device.prepare(point, input, 7);
  device.run_us(14);
  std::vector<const void*> tables = device.tables, outputs = device.outputs;
  tables.resize(7);
  outputs.resize(7);
  std::ranges::sort(tables);
  std::ranges::sort(outputs);
  const auto bytes_between = [](const void* a, const void* b) {
    return static_cast<const std::byte*>(b) - static_cast<const std::byte*>(a);
  };
  for (std::size_t copy = 1; copy < 7; ++copy) {
    CHECK(bytes_between(tables[copy - 1], tables[copy]) >= point.table_bytes());
    CHECK(bytes_between(outputs[copy - 1], outputs[copy]) >= point.output_bytes());
  }
}

TEST_CASE("a warm point has its memory to itself, without a flush; a flushed one is flushed before every call") {
  NotingDevice warm;
  BenchPoint point = lookups();
  point.warm = true;
  MeasuredPoint measured = measure_point(warm, point, few(), {});
  CHECK(different(warm.tables) == 1);
  CHECK(warm.flushes == 0);
  CHECK(measured.calls == 1);
  NotingDevice flushed(std::int64_t{1} << 30, false);
  point.warm = false;
  measured = measure_point(flushed, point, few(), {});
  CHECK(different(flushed.tables) == 1);
  CHECK(flushed.flushes == 5);
  CHECK(measured.calls == 1);
}

TEST_CASE("what is said of a data set names the state of the caches; warm sweeps have no point twice") {
  NotingDevice device;
  const BenchPoint cold = lookups();
  BenchPoint warm = cold;
  warm.warm = true;
  CHECK(warm_points({cold, warm, cold}) == std::vector<BenchPoint>{warm});
  MicrobenchOptions options = few();
  options.stream = false;
  const MeasuredSet set = measure(device, std::vector<BenchPoint>{cold, warm}, options, {});
  const std::string table = measured_csv(set), json = measured_json(set);
  CHECK(table.find(",rotated: " + std::to_string(set.points[0].rotation.copies) + " copies in turn,") !=
        std::string::npos);
  CHECK(table.find("10 calls between two events") != std::string::npos);
  CHECK(table.find(",warm: same batch repeated,") != std::string::npos);
  CHECK(json.find("\"cache_state\": \"rotated\"") != std::string::npos);
  CHECK(json.find("\"calls\": 10") != std::string::npos);
}

}  // namespace shardsim::rotation_test
