#include "study/sweep/crew.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
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
