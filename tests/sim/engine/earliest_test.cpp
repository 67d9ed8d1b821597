#include "sim/engine/earliest.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

#include "base/rng.h"

namespace shardsim::earliest_test {

namespace {

// Many are of the same time.
struct Event {
  double when = 0;
  int number = 0;
  bool operator>(const Event& other) const { return std::tie(when, number) > std::tie(other.when, other.number); }
};

}  // namespace

TEST_CASE("events come in the order of a plain queue, however many are pushed between two") {
  Rng random(5);
  Earliest<Event> events;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> plain;
  int number = 0;
  double now = 0;
  for (int turn = 0; turn < 400; ++turn) {
    const std::uint64_t count = random.below(4) == 0 ? 200 + random.below(400) : random.below(4);
    std::vector<Event> fresh;
    for (std::uint64_t i = 0; i < count; ++i) fresh.push_back({now + static_cast<double>(random.below(50)), number++});
    for (const Event& event : fresh) {
      plain.push(event);
      events.push(event);
    }
    for (std::uint64_t i = random.below(300); i > 0 && !plain.empty(); --i) {
      REQUIRE(events.top().number == plain.top().number);
      now = plain.top().when;
      events.pop();
      plain.pop();
    }
    REQUIRE(events.empty() == plain.empty());
  }
}

TEST_CASE("sorting by time leaves events of one time in their order, whatever the size of the times") {
  Rng random(7);
  std::vector<Event> events;
  for (int number = 0; number < 2000; ++number) {
    const double scale = std::pow(10.0, static_cast<double>(random.below(12)) - 9);
    events.push_back({static_cast<double>(random.below(20)) * scale, number});
  }
  std::vector<Event> expected = events;
  std::ranges::stable_sort(expected, {}, &Event::when);
  sort_by_time(events);
  CHECK(std::ranges::equal(events, expected, {}, &Event::number, &Event::number));
  sort_by_time(events);  // again, in order as they are
  CHECK(std::ranges::equal(events, expected, {}, &Event::number, &Event::number));
}

TEST_CASE("sorting by time is right where almost all times differ in their lowest bits alone") {
  Rng random(11);
  for (const int count : {100, 5000}) {
    std::vector<Event> events{{1e6, 0}};  // far behind all others, so that the highest bits tell nothing of these
    for (int number = 1; number < count; ++number)
      events.push_back({1 + static_cast<double>(random.below(1000)) * 0x1p-52, number});
    std::vector<Event> expected = events;
    std::ranges::stable_sort(expected, {}, &Event::when);
    sort_by_time(events);
    CHECK(std::ranges::equal(events, expected, {}, &Event::number, &Event::number));
  }
}

}  // namespace shardsim::earliest_test
