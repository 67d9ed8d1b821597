#include "sim/timeline/timeline.h"

#include <doctest/doctest.h>

#include <limits>

#include "base/error.h"
#include "tests/sim/sample_timeline.h"

namespace shardsim {
namespace {

TEST_CASE("compute, collectives and exposed time of a rank are unions over time, per kept iteration") {
  const std::vector<RankTimes> ranks = rank_times(sample_timeline());
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].compute_ms == doctest::Approx(0.060));
  CHECK(ranks[0].comm_ms == doctest::Approx(0.070));
  CHECK(ranks[0].exposed_ms == doctest::Approx(0.040));
  CHECK(ranks[1].comm_ms == doctest::Approx(0.065));
  CHECK(ranks[1].exposed_ms == doctest::Approx(0.035));
}

TEST_CASE("a rank that runs nothing has zero times") {
  Timeline timeline = sample_timeline();
  timeline.world_size = 3;
  const std::vector<RankTimes> ranks = rank_times(timeline);
  REQUIRE(ranks.size() == 3);
  CHECK(ranks[2].compute_ms == 0);
  CHECK(ranks[2].comm_ms == 0);
  CHECK(ranks[2].exposed_ms == 0);
}

TEST_CASE(
    "times by name are of the slowest rank, their exposed part the mean over the ranks, in order of the operations") {
  const std::vector<NamedTime> times = named_times(sample_timeline());
  REQUIRE(times.size() == 5);
  const NamedTime &exchange = times[1], &local = times[2], &sync = times[4];
  CHECK(exchange.name == "exchange");
  CHECK(exchange.op_class == "all_to_all");
  CHECK(exchange.calls == 1);
  CHECK(exchange.alone_ms == doctest::Approx(0.028));
  CHECK(exchange.span_ms == doctest::Approx(0.030));
  CHECK(exchange.exposed_ms == doctest::Approx(0.030));
  CHECK(exchange.bytes_per_rank == 8192);
  CHECK(local.exposed_ms == 0);
  CHECK(sync.span_ms == doctest::Approx(0.040));
  CHECK(sync.exposed_ms == doctest::Approx(0.0075));
}

TEST_CASE("two operations of one name are two calls of it, and each counts its own time alone") {
  Timeline timeline = sample_timeline();
  timeline.ops[2].name = "exchange";
  const std::vector<NamedTime> times = named_times(timeline);
  REQUIRE(times.size() == 4);
  CHECK(times[1].calls == 2);
  CHECK(times[1].alone_ms == doctest::Approx(0.028 + 0.015));
  CHECK(times[1].span_ms == doctest::Approx(0.030 + 0.015));
  CHECK(times[1].exposed_ms == doctest::Approx(0.030));
  CHECK(times[1].bytes_per_rank == 8192 + 1024);
}

TEST_CASE("a name that only one rank runs is not diluted by the others") {
  Timeline timeline = sample_timeline();
  std::erase_if(timeline.spans, [](const Span& span) { return span.op == 1 && span.rank == 1; });
  CHECK(named_times(timeline)[1].span_ms == doctest::Approx(0.030));
}

TEST_CASE("collectives that end together: the exposed time goes to the lower stream, then to the lower op") {
  Timeline timeline;
  timeline.world_size = 1;
  timeline.streams = {"a", "b"};
  timeline.ops = {{"late", "all_reduce"}, {"first", "all_gather"}, {"other", "all_to_all"}};
  timeline.spans = {{0, 5, 0, 1, 0, 0, 0}, {0, 5, 0, 0, 1, 0, 0}, {0, 5, 0, 0, 2, 0, 0}};
  const std::vector<NamedTime> times = named_times(timeline);
  CHECK(times[0].exposed_ms == 0);
  CHECK(times[1].exposed_ms == doctest::Approx(0.005));
  CHECK(times[2].exposed_ms == 0);
}

TEST_CASE("the exposed times of all collectives of a rank add up to its exposed time") {
  Timeline timeline;
  timeline.world_size = 1;
  timeline.streams = {"compute", "a", "b", "c"};
  timeline.ops = {{"dense", "dense"}, {"x", "all_to_all"}, {"y", "all_reduce"}, {"z", "reduce_scatter"}};
  for (int i = 0; i < 200; ++i) {
    const int stream = i % 4;
    const double start = 7.0 * (i / 4) + stream;
    timeline.spans.push_back({start, start + 1 + (i * 37 % 5), 0, stream, stream, 0, 0});
  }
  sort_spans(timeline);
  double sum = 0;
  for (const NamedTime& time : named_times(timeline)) sum += time.exposed_ms;
  const double exposed = rank_times(timeline)[0].exposed_ms;
  CHECK(exposed > 0);
  CHECK(sum == doctest::Approx(exposed).epsilon(1e-12));
}

TEST_CASE("spans are sorted by start, rank, stream, op") {
  Timeline timeline;
  timeline.spans = {{1, 9, 0, 0, 0, 0, 0},
                    {0, 9, 1, 0, 0, 0, 0},
                    {0, 9, 0, 1, 0, 0, 0},
                    {0, 9, 0, 0, 2, 0, 0},
                    {0, 9, 0, 0, 1, 0, 0}};
  const std::vector<Span> due = {timeline.spans[4], timeline.spans[3], timeline.spans[2], timeline.spans[1],
                                 timeline.spans[0]};
  sort_spans(timeline);
  CHECK(timeline.spans == due);
}

TEST_CASE("a timeline read back from bytes equals the one written") {
  Timeline timeline = sample_timeline();
  timeline.complete = false;
  timeline.steady = false;
  timeline.kind = "observed";
  timeline.iteration_ms = 0.1 + 0.2;
  CHECK(timeline_from_bytes(to_bytes(timeline)) == timeline);
  CHECK(timeline_from_bytes(to_bytes(sample_observation())) == sample_observation());
  CHECK(timeline_from_bytes(to_bytes(Timeline())) == Timeline());
}

TEST_CASE("bytes cut short anywhere, or with something behind them, are refused") {
  const std::string bytes = to_bytes(sample_timeline());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_THROWS_AS(timeline_from_bytes(std::string_view(bytes).substr(0, size)), Error);
  CHECK_THROWS_AS(timeline_from_bytes(bytes + "x"), Error);
}

TEST_CASE("bytes with any one byte changed are refused or read, never a crash") {
  const std::string bytes = to_bytes(sample_timeline());
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string broken = bytes;
    broken[i] = static_cast<char>(broken[i] ^ 0xff);
    try {
      named_times(timeline_from_bytes(broken));
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("what is wrong with a timeline is said with the span's number") {
  const auto fault_after = [](auto change) {
    Timeline timeline = sample_timeline();
    change(timeline);
    return timeline_fault(timeline);
  };
  CHECK(timeline_fault(sample_timeline()).empty());
  CHECK(fault_after([](Timeline& t) { t.spans[3].end_us = t.spans[3].start_us - 1; }).starts_with("span 3 ends at"));
  CHECK(fault_after([](Timeline& t) { t.spans[0].rank = 2; }) == "span 0 is on rank 2, outside the world of 2 ranks");
  CHECK(fault_after([](Timeline& t) { t.spans[0].op = 5; }) == "span 0 names op 5, outside the table of 5 ops");
  CHECK(fault_after([](Timeline& t) { t.spans[0].op = -1; }).starts_with("span 0 names op -1"));
  CHECK(fault_after([](Timeline& t) { t.spans[0].stream = 3; }).starts_with("span 0 names stream 3"));
  CHECK(fault_after([](Timeline& t) { t.spans[0].bytes = -1; }) == "span 0 moves -1 bytes");
  CHECK(fault_after([](Timeline& t) { t.spans[0].start_us = std::numeric_limits<double>::quiet_NaN(); }) ==
        "span 0 has a time that is not finite");
  CHECK(fault_after([](Timeline& t) { t.hbm_bytes.pop_back(); }) == "column rank/hbm_bytes has 1 values for 2 ranks");
  CHECK(fault_after([](Timeline& t) { t.flow.pop_back(); }) == "flow/bytes has 3 values, not 2 x 2");
  CHECK(fault_after([](Timeline& t) { t.groups["world"][0][1] = 2; }) ==
        "group world holds rank 2, outside the world of 2 ranks");
}

TEST_CASE("the members of an op's group are those of the rank set that holds the rank") {
  const Timeline timeline = sample_timeline();
  CHECK(group_of(timeline, timeline.ops[1], 1) == std::vector<int>{0, 1});
  CHECK(group_of(timeline, timeline.ops[2], 1) == std::vector<int>{1});
  CHECK(group_of(timeline, timeline.ops[0], 1).empty());
}

}  // namespace
}  // namespace shardsim
