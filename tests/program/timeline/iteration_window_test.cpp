#include "program/timeline/iteration_window.h"

#include <doctest/doctest.h>

#include <map>

#include "tests/program/overlapping_timeline.h"
#include "tests/program/sample_timeline.h"

namespace shardsim::iteration_window_test {
namespace {

TEST_CASE("the window of a steady iteration that overlaps its neighbours is its last period") {
  const std::vector<IterationWindow> windows = iteration_windows(overlapping_timeline());
  REQUIRE(windows.size() == 1);
  CHECK(windows[0].repeats);
  CHECK(windows[0].begin_us == doctest::Approx(5));
  CHECK(windows[0].ms() == doctest::Approx(0.1));
}

TEST_CASE("what ran before the window runs again, ahead, before it ends; nothing is lost and nothing twice") {
  const Timeline timeline = overlapping_timeline();
  const auto parts = parts_in(timeline, iteration_windows(timeline));
  REQUIRE(parts.size() == 1);
  REQUIRE(parts[0].size() == 2 * 4);
  std::map<std::size_t, double> us;
  for (const WindowPart& part : parts[0]) {
    us[part.span] += part.end_us - part.start_us;
    CHECK(part.start_us >= 5);
    CHECK(part.end_us <= 105);
    const bool ids = timeline.spans[part.span].op == 0;
    if (!ids) CHECK(part.ahead == 0);
    if (!ids) CHECK_FALSE(part.continued);
    if (ids && part.ahead == 0) {
      CHECK(part.continued);
      CHECK(part.start_us == doctest::Approx(5));
      CHECK(part.end_us == doctest::Approx(25));
    } else if (ids) {
      CHECK(part.ahead == 1);
      CHECK_FALSE(part.continued);
      CHECK(part.start_us == doctest::Approx(100));
      CHECK(part.shift_us == doctest::Approx(100));
    }
  }
  for (const auto& [span, sum] : us)
    CHECK(sum == doctest::Approx(timeline.spans[span].end_us - timeline.spans[span].start_us));
}

TEST_CASE("an iteration that fits its period, several iterations, and one of absurd length do not repeat") {
  CHECK_FALSE(iteration_windows(sample_timeline()).front().repeats);
  Timeline timeline = overlapping_timeline();
  timeline.iteration_ms = 0.105;
  CHECK_FALSE(iteration_windows(timeline).front().repeats);
  timeline.iteration_ms = 1e-9;
  CHECK_FALSE(iteration_windows(timeline).front().repeats);
  timeline.iteration_ms = 0;
  CHECK_FALSE(iteration_windows(timeline).front().repeats);
}

TEST_CASE("an instant is in the window once") {
  Timeline timeline = overlapping_timeline();
  for (const double at : {0.0, 5.0, 50.0, 105.0}) timeline.spans.push_back({at, at, 0, 0, 1, 0, 0});
  std::map<std::size_t, int> times;
  const auto parts = parts_in(timeline, iteration_windows(timeline));
  for (const WindowPart& part : parts.front()) ++times[part.span];
  for (std::size_t span = 6; span < 9; ++span) CHECK(times[span] == 1);
}

TEST_CASE("of several windows each holds what runs in it, whatever iteration it is of") {
  Timeline timeline = sample_timeline();
  for (Span& span : timeline.spans)
    if (span.iteration == 1 && span.op == 0) span.start_us = 90;  // the second iteration's lookup, 90..110
  const auto parts = parts_in(timeline, iteration_windows(timeline));
  REQUIRE(parts.size() == 2);
  int ahead = 0, continued = 0;
  for (const WindowPart& part : parts[0]) ahead += part.ahead;
  for (const WindowPart& part : parts[1]) continued += part.continued;
  CHECK(ahead == 2);  // on both ranks
  CHECK(continued == 2);
}

}  // namespace
}  // namespace shardsim::iteration_window_test
