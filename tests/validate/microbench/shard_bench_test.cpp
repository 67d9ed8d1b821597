#include "validate/microbench/shard_bench.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/files.h"
#include "validate/microbench/drawn_ids.h"

namespace shardsim::shard_bench_test {
namespace {

namespace fs = std::filesystem;

Table pooled_table(const std::string& name, std::uint64_t rows, double pooling) {
  Table table;
  table.name = name;
  table.rows = rows;
  table.dim = 4;
  table.kind = TableKind::pooled;
  table.average_length = pooling;
  return table;
}

ShardSet small_set() {
  ShardSet set;
  set.workload.optimizer = "sgd";
  set.workload.tables = {pooled_table("a", 1000, 2.5), pooled_table("b", 300, 0.25)};
  set.workload.tables[0].access.family = "steps";
  set.workload.tables[0].access.steps = {{10, 90}, {500, 1}};
  set.batch = 64;
  set.shards = {{{0, 8}, {1, 4}}, {{1, 16}}, {{0, 4}, {0, 8}}};
  return set;
}

BenchInput drawn(const ShardSet& set, std::size_t shard, std::uint64_t seed, int call) {
  const ShardIds ids(set, seed);
  return draw(ids.of(shard), ids.laws(), ids.salt(call));
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("shardsim_shard_bench_test_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

}  // namespace

TEST_CASE("positions come as often as the access distribution says") {
  AccessSpec steps;
  steps.family = "steps";
  steps.steps = {{3, 100}, {50, 4}, {200, 1}};
  AccessSpec zipf;
  zipf.family = "zipf";
  zipf.s = 1.1;
  for (const AccessSpec& spec : {steps, zipf, AccessSpec{}}) {
    CAPTURE(spec.family);
    const AccessDistribution access(spec, 400, 7);
    const PositionDraw positions(access);
    constexpr int kDraws = 400'000;
    std::vector<int> met(400);
    Rng rng(5);
    for (int i = 0; i < kDraws; ++i) ++met.at(positions.draw(rng));
    for (std::size_t row = 0; row < met.size(); ++row) {
      const double expected = kDraws * access.probability(row) / access.total();
      CAPTURE(row);
      CHECK(std::abs(met[row] - expected) <= 5 * std::sqrt(expected));
    }
  }
}

TEST_CASE("steps of a law are stretches, and rows that nobody looks up are in none") {
  AccessSpec spec;
  spec.family = "steps";
  spec.steps = {{3, 100}, {50, 4}, {200, 1}, {70'000, 0.0625}};
  const PositionDraw positions(AccessDistribution(spec, 1'000'000, 7));
  REQUIRE(positions.stretches().size() == 4);
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(positions.stretches()[i].first == first);
    CHECK(positions.stretches()[i].positions == spec.steps[i].rows);
    first += spec.steps[i].rows;
  }
}

TEST_CASE("stretches of a falling law are short enough, and few") {
  AccessSpec spec;
  spec.family = "zipf";
  spec.s = 1.05;
  const AccessDistribution access(spec, 40'000'000, 7);
  const PositionDraw positions(access);
  CHECK(positions.stretches().size() < 5000);
  std::uint64_t first = 0;
  for (const Stretch& stretch : positions.stretches()) {
    REQUIRE(stretch.first == first);
    first += stretch.positions;
    CHECK(stretch.each >= 0.995 * access.probability(stretch.first));
    CHECK(stretch.before == doctest::Approx(access.prefix(stretch.first)).epsilon(1e-12));
  }
  CHECK(first == access.rows());
}

TEST_CASE("tables begin at cache lines, whatever those before them end in") {
  ShardSet set = small_set();
  set.workload.tables[1].rows = 301;
  set.shards = {{{1, 4}, {1, 12}, {0, 8}}};
  const BenchPoint point = shard_point(set, 0);
  // 301 rows of 16 bytes are 75.25 lines, of 48 bytes 225.75; 1,000 of 32 bytes are 500.
  CHECK(point.table_batch().begin == std::vector<std::int64_t>{0, 76 * 16, (76 + 226) * 16});
  CHECK(point.table_bytes() == (76 + 226 + 500) * 64);
}

TEST_CASE("bags have the table's mean length, and pieces of one table the same ids") {
  const ShardSet set = small_set();
  const BenchInput input = drawn(set, 0, 7, 0);
  REQUIRE(input.offsets.size() == 129);
  CHECK(input.offsets[64] == 160);   // 64 x 2.5
  CHECK(input.offsets[128] == 176);  // and 64 x 0.25
  CHECK(input.offsets[1] == 2);
  CHECK(input.offsets[2] == 5);
  CHECK(input.indices.size() == 176);
  const BenchInput twice = drawn(set, 2, 7, 0);
  CHECK(std::equal(twice.indices.begin(), twice.indices.begin() + 160, twice.indices.begin() + 160));
  CHECK(std::equal(twice.indices.begin(), twice.indices.begin() + 160, input.indices.begin()));
  CHECK(drawn(set, 0, 8, 0).indices != input.indices);
  const BenchInput next = drawn(set, 0, 7, 1);  // of the next call: other ids, bags alike
  CHECK(next.indices != input.indices);
  CHECK(next.offsets == input.offsets);
  // Nine tenths of what is looked up are among ten rows.
  std::map<std::int64_t, int> met;
  for (std::size_t i = 0; i < 160; ++i) ++met[input.indices[i]];
  CHECK(std::ranges::max_element(met, {}, [](const auto& entry) { return entry.second; })->second > 2);
  for (const auto& [index, count] : met) CHECK((index >= 0 && index < 1000));
}

TEST_CASE("shards are measured forward and backward, those with labels are left alone") {
  ShardSet set = small_set();
  set.labels.resize(3);
  set.labels[1] = ShardSeconds{1, 2};
  const auto device = make_cpu_bench_device(1);
  ShardOptions options;
  options.visits = 2;
  options.warmup = 1;
  options.repetitions = 3;
  options.warm = true;
  std::vector<std::size_t> visited;
  double least = HUGE_VAL;
  measure_shards(*device, set, {}, options, {{}, {}, [&](std::size_t shard, const ShardSeconds& visit) {
                                               visited.push_back(shard);
                                               if (shard == 0) least = std::min(least, visit.forward);
                                             }});
  CHECK(visited == std::vector<std::size_t>{0, 2, 0, 2});
  CHECK(set.labels[0]->forward == least);
  CHECK(set.labels[1]->backward == 2);
  CHECK(set.labels[0]->forward > 0);
  CHECK(set.labels[2]->backward > 0);
  CHECK(set.labels[2]->backward < 1);
}

TEST_CASE("visits of before count, in number and in time") {
  ShardSet set = small_set();
  std::vector<VisitedShard> before(3);
  for (VisitedShard& shard : before) shard.add({1e-12, 1e3});
  before[1].add({2, 1e-12});
  const auto device = make_cpu_bench_device(1);
  ShardOptions options;
  options.visits = 2;
  options.warm = true;
  std::vector<std::size_t> visited;
  measure_shards(*device, set, before, options,
                 {{}, {}, [&](std::size_t shard, const ShardSeconds&) { visited.push_back(shard); }});
  CHECK(visited == std::vector<std::size_t>{0, 2});
  CHECK(set.labels[0]->forward == 1e-12);
  CHECK(set.labels[0]->backward < 1);
  CHECK(set.labels[1]->forward == 1e-12);
  CHECK(set.labels[1]->backward == 1e-12);
}

// Where the kernel has no figure, the C library tells what all cores of a socket have together, and every flush would
// read twice that.
TEST_CASE("the last cache of an AMD processor is no larger than that of one complex of cores") {
  if (fs::exists("/sys/devices/system/cpu/cpu0/cache/index3/size")) return;
  if (read_file("/proc/cpuinfo").find("AuthenticAMD") == std::string::npos) return;
  const std::int64_t bytes = make_cpu_bench_device(1)->facts().cache_bytes;
  CHECK(bytes > 0);
  CHECK(bytes <= std::int64_t{96} << 20);
}

TEST_CASE("what the kernels do not know is refused") {
  const auto device = make_cpu_bench_device(1);
  ShardSet set = small_set();
  set.workload.optimizer = "lamb";
  CHECK_THROWS_WITH_AS(measure_shards(*device, set, {}, {}, {}), doctest::Contains("lamb"), Error);
  set = small_set();
  set.workload.tables[1].dtype = Dtype::int8;
  CHECK_THROWS_WITH_AS(measure_shards(*device, set, {}, {}, {}), doctest::Contains("int8"), Error);
  set = small_set();
  set.workload.tables[1].rows = std::uint64_t{1} << 45;
  CHECK_THROWS_WITH_AS(measure_shards(*device, set, {}, {}, {}), doctest::Contains("with shard 0"), Error);
}

TEST_CASE("a journal gives back what was measured, but not a line that was cut off") {
  const Folder folder;
  const fs::path output = folder.path / "labels.json", path = folder.path / "labels.json.journal";
  {
    std::vector<VisitedShard> shards(3);
    ShardJournal journal(output, "these", shards);
    journal.add(2, {2e-3, 3e-3});
    journal.add(0, {1e-3, 1.5e-3});
    journal.add(2, {1e-3, 4e-3});
  }
  std::ofstream(path, std::ios::app) << "1 55";
  {
    std::vector<VisitedShard> shards(3);
    ShardJournal journal(output, "these", shards);
    CHECK(shards[2].visits == 2);
    CHECK(shards[2].least.forward == doctest::Approx(1e-3));
    CHECK(shards[2].least.backward == doctest::Approx(3e-3));
    CHECK(shards[0].visits == 1);
    CHECK(shards[0].least.forward == doctest::Approx(1e-3));
    CHECK(shards[1].visits == 0);
    journal.add(1, {4e-3, 5e-3});
  }
  std::vector<VisitedShard> again(3);
  ShardJournal(output, "these", again).remove();
  CHECK(again[1].least.forward == doctest::Approx(4e-3));
  CHECK_FALSE(is_there(path));
}

TEST_CASE("the journal of another measurement is refused, and one that is none") {
  const Folder folder;
  const fs::path output = folder.path / "labels.json", path = folder.path / "labels.json.journal";
  std::vector<VisitedShard> shards(3);
  ShardJournal(output, "these", shards).add(0, {1, 1});
  const auto open = [&](const char* what) { return ShardJournal(output, what, shards); };
  CHECK_THROWS_WITH_AS(open("others"), doctest::Contains("another measurement"), Error);
  std::ofstream(path, std::ios::app) << "7 1 1\n";
  CHECK_THROWS_WITH_AS(open("these"), doctest::Contains("journal:3"), Error);
}

}  // namespace shardsim::shard_bench_test
