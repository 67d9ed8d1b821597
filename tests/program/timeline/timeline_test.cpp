#include "program/timeline/timeline.h"

#include <doctest/doctest.h>

#include <limits>

#include "base/error.h"
#include "program/timeline/named_times.h"
#include "tests/program/sample_timeline.h"

namespace shardsim::timeline_test {
namespace {

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
    return timeline_fault(timeline).text;
  };
  CHECK(timeline_fault(sample_timeline()).text.empty());
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
  CHECK(fault_after([](Timeline& t) { t.groups["world"][0][1] = t.groups["world"][0][0]; }) ==
        "group world holds rank 0 twice in one of its sets");
}

TEST_CASE("lengths have the bounds of spans, and an iteration takes some time or is not known") {
  const auto part_after = [](auto change) {
    Timeline timeline = sample_timeline();
    change(timeline);
    return timeline_fault(timeline).part;
  };
  for (const double ms : {1e300, 1e-300, -1.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK(part_after([&](Timeline& t) { t.iteration_ms = ms; }) == "iteration_ms");
  for (const double ms : {0.0, 1e-9, 1e9}) CHECK(part_after([&](Timeline& t) { t.iteration_ms = ms; }).empty());
  CHECK(part_after([](Timeline& t) { t.ops[0].alone_us = 1e300; }) == "ops");
  CHECK(part_after([](Timeline& t) { t.measured.clock_residual_us = 1e300; }) == "measured/clock_residual_us");
}

TEST_CASE("the members of an op's group are those of the rank set that holds the rank") {
  const Timeline timeline = sample_timeline();
  CHECK(group_of(timeline, timeline.ops[1], 1) == std::vector<int>{0, 1});
  CHECK(group_of(timeline, timeline.ops[2], 1) == std::vector<int>{1});
  CHECK(group_of(timeline, timeline.ops[0], 1).empty());
}

}  // namespace
}  // namespace shardsim::timeline_test
