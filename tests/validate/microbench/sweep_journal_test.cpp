#include "validate/microbench/sweep_journal.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "base/files.h"
#include "tests/temporary_folder.h"

namespace shardsim::sweep_journal_test {
namespace {

// No two timings are alike. Fails at a call of a kernel, counted from 1.
class CountingDevice final : public BenchDevice {
 public:
  explicit CountingDevice(int fails_at = -1) : BenchDevice(facts_of(), {1024, 1}), fails_at_(fails_at) {}
  int called = 0;

 private:
  static DeviceFacts facts_of() {
    DeviceFacts facts;
    facts.cache_bytes = 1 << 20;
    facts.memory_bytes = std::int64_t{1} << 30;
    return facts;
  }
  DeviceMemory memory(std::int64_t bytes, const char*) override {
    return {std::shared_ptr<void>(std::calloc(static_cast<std::size_t>(bytes + 1), 1), std::free), bytes};
  }
  void upload(void*, const void*, std::int64_t) override {}
  void fill(ElementType, std::int64_t, void*) override {}
  double timed_us(int calls, const std::function<void()>& call) override {
    for (int i = 0; i < calls; ++i) call();
    return 10 + 0.1 * ++timed_;
  }
  void do_nothing() override {}
  void copy(void*, const void*, std::int64_t) override {}
  void read(const void*, std::int64_t, int) override {}
  void sweep(const DeviceMemory&) override {}
  void lookup() override { count(); }
  void update() override { count(); }
  void gather() override { count(); }
  void scatter() override { count(); }
  void gemm() override { count(); }
  void count() {
    if (++called == fails_at_) throw run_error("the device fell off the bus", "Look at it");
  }

  int fails_at_, timed_ = 0;
};

std::vector<BenchPoint> four_points() {
  std::vector<BenchPoint> points(4);
  for (std::size_t i = 0; i < 3; ++i) {
    points[i].tables = {{1000, 16, 4}, {10 + static_cast<std::int64_t>(i), 8, 1}};
    points[i].batch = 64;
  }
  points[3].op = BenchOp::gemm;
  points[3].m = points[3].n = points[3].k = 8;
  return points;
}

MicrobenchOptions two_rounds() {
  MicrobenchOptions options;
  options.warmup = 1;
  options.repetitions = 3;
  options.rounds = 2;
  options.stream = false;
  options.most_spread = 10;
  return options;
}

MeasuredSet sweep(CountingDevice& device, SweepJournal& journal) {
  const std::vector<BenchPoint> points = four_points();
  journal.memory(1 << 20);
  const MicrobenchWatch watch{
      {},
      {},
      [&](const DeviceLimits& limits) { journal.begun(limits); },
      [&](int round, std::size_t point, const MeasuredPoint& visit) { journal.measured(round, point, visit); }};
  return measure(device, points, two_rounds(), watch, journal.before(points));
}

}  // namespace

TEST_CASE("a sweep that a point ends goes on there, and what was measured stays as it was") {
  const TemporaryFolder folder("sweep_journal");
  const auto output = folder / "out.json";
  DeviceLimits limits;
  {
    SweepJournal journal(output, "a; b");
    CountingDevice device(4 * 5 + 2);  // at the second point of the second round
    CHECK_THROWS_WITH_AS(sweep(device, journal), doctest::Contains("fell off"), Error);
    limits = journal.before(four_points()).limits.value_or(DeviceLimits{});
  }
  std::vector<std::vector<double>> before(4);
  {
    const SweepJournal journal(output, "a; b");
    const MeasuredBefore kept = journal.before(four_points());
    CHECK(kept.visits.size() == 5);
    for (const auto& [key, visit] : kept.visits)
      before[key.second].insert(before[key.second].end(), visit.samples_us.begin(), visit.samples_us.end());
    REQUIRE(kept.limits.has_value());
    limits = *kept.limits;
  }
  SweepJournal journal(output, "a; b");
  CHECK(journal.memory(1 << 30) == 1 << 20);
  CountingDevice device;
  const MeasuredSet set = sweep(device, journal);
  CHECK(device.called == 3 * 4);
  REQUIRE(set.points.size() == 4);
  CHECK(set.before.copy_bandwidth == limits.copy_bandwidth);
  CHECK(set.before.launch_floor_us == limits.launch_floor_us);
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    const MeasuredPoint& point = set.points[i];
    CHECK(point.point == four_points()[i]);
    CHECK(point.samples_us.size() == 6);
    CHECK(point.rounds_us.size() == 2);
    CHECK(point.distinct.size() == point.point.tables.size());
    CHECK(point.statistics.median == sample_statistics(point.samples_us).median);
    CHECK(std::vector<double>(point.samples_us.begin(),
                              point.samples_us.begin() + static_cast<std::ptrdiff_t>(before[i].size())) == before[i]);
  }
  journal.remove();
  CHECK(folder.empty());
}

TEST_CASE("a point that fails first leaves no journal") {
  const TemporaryFolder folder("sweep_journal_first");
  {
    SweepJournal journal(folder / "out.json", "a; b");
    CountingDevice device(1);
    CHECK_THROWS_AS(sweep(device, journal), Error);
    CHECK(journal.journal().empty());
  }
  CHECK(folder.empty());
}

TEST_CASE("a journal of another sweep is refused by the part that differs, and so are lines of none") {
  const TemporaryFolder folder("sweep_journal_other");
  const auto output = folder / "out.json";
  {
    SweepJournal journal(output, "v1; on a; whole");
    CountingDevice device(4 * 2 + 1);
    CHECK_THROWS_AS(sweep(device, journal), Error);
    CHECK_THROWS_WITH_AS(Journal(output, "v1; on a; whole"), doctest::Contains("another process is measuring"), Error);
  }
  CHECK_THROWS_WITH_AS(SweepJournal(output, "v1; on b; whole"),
                       doctest::Contains("\"on a\" where this one has \"on b\""), Error);
  CHECK_THROWS_WITH_AS(SweepJournal(output, "v2; on a; whole"), doctest::Contains("another measurement"), Error);
  std::vector<BenchPoint> other = four_points();
  other[1].op = BenchOp::update;
  CHECK_THROWS_WITH_AS(SweepJournal(output, "v1; on a; whole").before(other), doctest::Contains("out.json.journal:4: "),
                       Error);
  for (const char* const line : {R"({"round": 0})", "[]", "7 1 1", R"({"round": 0, "point": 9, "op": "gemm"})"}) {
    CAPTURE(line);
    const std::string text = read_file(output.string() + ".journal");
    std::ofstream(output.string() + ".journal", std::ios::app) << line << '\n';
    CHECK_THROWS_WITH_AS(SweepJournal(output, "v1; on a; whole").before(four_points()),
                         doctest::Contains("is no line of this measurement"), Error);
    std::ofstream(output.string() + ".journal") << text;
  }
}

}  // namespace shardsim::sweep_journal_test
