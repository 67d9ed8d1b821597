#include "study/sweep/crew.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <fstream>
#include <map>

#include "base/packed.h"
#include "base/workers.h"
#include "tests/temporary_folder.h"

namespace shardsim::crew_test {

namespace {

PointResult square(std::uint32_t point) {
  PointResult result;
  result.point = point;
  result.iteration_ms = static_cast<double>(point) * point;
  return result;
}

std::vector<std::uint32_t> first_points(std::uint32_t count) {
  std::vector<std::uint32_t> points;
  for (std::uint32_t point = 0; point < count; ++point) points.push_back(point);
  return points;
}

std::map<std::uint32_t, PointResult> all_results(int members, std::uint32_t points, const PointTask& task) {
  std::map<std::uint32_t, PointResult> results;
  const auto crew = make_local_crew(members, task);
  CrewWatch watch;
  watch.finished = [&](const PointResult& result) { CHECK(results.emplace(result.point, result).second); };
  hand_out(*crew, first_points(points), watch);
  return results;
}

}  // namespace

TEST_CASE("each point is simulated once, for any number of members") {
  for (const int members : {1, 2, 5}) {
    for (const std::uint32_t points : {1u, 4u, 100u}) {
      const auto results = all_results(members, points, [](std::uint32_t point) { return packed(square(point)); });
      REQUIRE(results.size() == points);
      for (const auto& [point, result] : results) CHECK(result == square(point));
    }
  }
}

TEST_CASE("a member that dies is replaced, its point tried again, and nothing else is lost") {
  const TemporaryFolder folder("sweep");
  const auto dies_once = [&](std::uint32_t point) {
    const auto mark = folder.path() / std::to_string(point);
    if (point % 7 == 3 && !std::filesystem::exists(mark)) {
      std::ofstream(mark) << "died";
      ::raise(SIGKILL);
    }
    return packed(square(point));
  };
  const auto results = all_results(2, 40, dies_once);
  REQUIRE(results.size() == 40);
  for (const auto& [point, result] : results) CHECK(result == square(point));
}

TEST_CASE("a point at which members die again and again says so, and the others go on") {
  const auto dies = [](std::uint32_t point) {
    if (point == 5) ::raise(SIGKILL);
    return packed(square(point));
  };
  const auto results = all_results(2, 20, dies);
  REQUIRE(results.size() == 20);
  CHECK(results.at(5).outcome == PointResult::Outcome::died);
  CHECK(results.at(5).message.find("Killed") != std::string::npos);
  for (const auto& [point, result] : results) {
    if (point != 5) CHECK(result == square(point));
  }
}

namespace {

// A crew that answers at once, in the order of what it was given, and writes down who was given what.
class WritingCrew final : public Crew {
 public:
  explicit WritingCrew(int members) : given(static_cast<std::size_t>(members)) {}
  int size() const override { return static_cast<int>(given.size()); }
  void give(int member, std::uint32_t point) override {
    given[static_cast<std::size_t>(member)].push_back(point);
    open_.emplace_back(member, point);
  }
  std::optional<Answer> next() override {
    const auto [member, point] = open_.front();
    open_.pop_front();
    return Answer{member, false, packed(square(point))};
  }
  bool replace(int) override { return false; }

  std::vector<std::vector<std::uint32_t>> given;  // by member

 private:
  std::deque<std::pair<int, std::uint32_t>> open_;
};

}  // namespace

TEST_CASE(
    "a member is given the points of one group before those of another, and no group twice while there are others") {
  constexpr std::uint32_t kPoints = 24, kGroups = 6;
  const auto group_of = [](std::uint32_t point) { return std::uint64_t{point % kGroups}; };
  for (const int members : {1, 2, 3}) {
    WritingCrew crew(members);
    std::map<std::uint32_t, int> seen;
    hand_out(crew, first_points(kPoints), {[&](const PointResult& result) { ++seen[result.point]; }}, group_of);
    CHECK(seen.size() == kPoints);
    for (const auto& given : crew.given) {
      std::size_t changes = 0;
      for (std::size_t i = 1; i < given.size(); ++i) changes += group_of(given[i]) != group_of(given[i - 1]) ? 1 : 0;
      CHECK(changes == kGroups / static_cast<std::uint32_t>(members) - 1);
    }
  }
}

TEST_CASE("whoever looks on may stop it") {
  const auto crew = make_local_crew(2, [](std::uint32_t point) {
    ::usleep(20'000);
    return packed(square(point));
  });
  int seen = 0;
  CrewWatch watch;
  watch.finished = [&](const PointResult&) { ++seen; };
  watch.waiting = [&] { throw_if_interrupted([&] { return seen >= 3; }); };
  CHECK_THROWS_AS(hand_out(*crew, first_points(1000), watch), Interrupted);
  CHECK(seen < 10);
}

}  // namespace shardsim::crew_test
