#include "study/sweep/point_files.h"

#include <doctest/doctest.h>

#include <fstream>

#include "base/files.h"
#include "study/sweep/crew.h"
#include "tests/temporary_folder.h"

namespace shardsim::point_files_test {

namespace {

Sweep sweep_of(std::uint32_t points) {
  Sweep sweep;
  sweep.path = "a.yaml";
  sweep.title = "A";
  Axis axis{"cluster.nodes", {}, {}};
  for (std::uint32_t i = 0; i < points; ++i) {
    sweep.points.push_back(i);
    axis.values.push_back({text_tree(std::to_string(i)), std::to_string(i), {}});
  }
  sweep.dimensions = {{{axis}}};
  sweep.product = points;
  return sweep;
}

// The result of a point in the sweep of so many points.
PointResult result_of(std::uint32_t point, std::uint32_t points) {
  PointResult result;
  result.point = point;
  result.sweep = sweep_digest(sweep_identity(sweep_of(points)));
  result.iteration_ms = 1.5 * point;
  result.limited_by = "node0/nic" + std::to_string(point);
  result.cost_per_hour = 3;
  return result;
}

void write_points(const std::filesystem::path& file, std::uint32_t from, std::uint32_t to, std::uint32_t points) {
  PointWriter writer(file);
  for (std::uint32_t point = from; point < to; ++point) writer.append(result_of(point, points));
}

std::size_t finished(const PointFiles& files) {
  std::size_t count = 0;
  for (const auto& each : files.read()) count += each ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("points that were written are there, from all files, once each") {
  const TemporaryFolder folder("sweep");
  const Sweep sweep = sweep_of(10);
  const PointFiles files(folder.path(), sweep);
  write_points(files.folder() / "a.points", 0, 4, 10);
  write_points(files.folder() / "b.points", 3, 7, 10);
  const auto results = files.read();
  for (std::uint32_t point = 0; point < 7; ++point) CHECK(results[point] == result_of(point, 10));
  CHECK_FALSE(results[7].has_value());
  CHECK(finished(files) == 7);
}

TEST_CASE("wherever a file of points is cut or broken, what stands before is kept and the rest can be written again") {
  const TemporaryFolder folder("sweep");
  const Sweep sweep = sweep_of(5);
  const PointFiles files(folder.path(), sweep);
  const std::filesystem::path file = files.folder() / "a.points";
  write_points(file, 0, 5, 5);
  const std::string whole = read_file(file.string());
  std::size_t before = 0;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    write_file(file, whole.substr(0, length));
    const std::size_t count = finished(files);
    CHECK(count >= before);
    before = count;
    write_points(file, static_cast<std::uint32_t>(count), 5, 5);
    CHECK(read_file(file.string()) == whole);
  }
  CHECK(before == 5);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 0x20);
    write_file(file, broken);
    for (std::uint32_t point = 0; point < 5; ++point) {
      const auto results = files.read();
      if (results[point]) CHECK(results[point] == result_of(point, 5));
    }
    CHECK(finished(files) < 5);
  }
}

TEST_CASE("a point at which a process died is tried again") {
  const TemporaryFolder folder("sweep");
  const Sweep sweep = sweep_of(2);
  const PointFiles files(folder.path(), sweep);
  PointResult died = result_of(0, 2);
  died.outcome = PointResult::Outcome::died;
  PointWriter(files.folder() / "a.points").append(died);
  CHECK(finished(files) == 0);
}

TEST_CASE("a folder with the points of another sweep is refused by its name") {
  const TemporaryFolder folder("sweep");
  Sweep sweep = sweep_of(3);
  const PointFiles files(folder.path(), sweep);
  CHECK_NOTHROW(PointFiles(folder.path(), sweep));
  sweep.keep_plan = true;
  CHECK_THROWS_WITH_AS(PointFiles(folder.path(), sweep), doctest::Contains("a.yaml has changed since"), Error);
  sweep.path = "b.yaml";
  CHECK_THROWS_WITH_AS(PointFiles(folder.path(), sweep), doctest::Contains("another sweep, \"A\" (a.yaml)"), Error);
}

TEST_CASE("points say which sweep they are of, wherever their file is") {
  const TemporaryFolder folder("sweep");
  const PointFiles files(folder.path(), sweep_of(3));
  write_points(files.folder() / "a.points", 0, 3, 3);
  std::filesystem::remove(files.folder() / "sweep.txt");
  CHECK(finished(PointFiles(folder.path(), sweep_of(3))) == 3);
  std::filesystem::remove(files.folder() / "sweep.txt");
  CHECK_THROWS_WITH_AS(PointFiles(folder.path(), sweep_of(4)),
                       doctest::Contains("a.points: it holds points of another sweep"), Error);
  CHECK(finished(PointFiles(folder.path(), sweep_of(3))) == 3);
}

TEST_CASE("what is no file of points of this version is left out, and named") {
  const TemporaryFolder folder("sweep");
  const PointFiles files(folder.path(), sweep_of(3));
  write_points(files.folder() / "good.points", 0, 2, 3);
  write_file(files.folder() / "cut.points", "shardsim po");
  write_file(files.folder() / "old.points", "shardsim points/2\n");
  std::filesystem::create_directory(files.folder() / "room.points");
  CHECK(finished(files) == 2);
  CHECK(files.unusable() == std::vector{files.folder() / "old.points", files.folder() / "room.points"});
  CHECK_THROWS_WITH_AS(PointWriter(files.folder() / "room.points"),
                       doctest::Contains("room.points: cannot write it: it is a link, a folder, a pipe or a device"),
                       Error);
}

TEST_CASE("a lock excludes others until it goes, and shared ones do not exclude each other") {
  const TemporaryFolder folder("sweep");
  const std::filesystem::path file = folder.path() / "lock";
  {
    const auto held = FolderLock::try_lock(file, FolderLock::Kind::alone);
    REQUIRE(held.has_value());
    CHECK_FALSE(FolderLock::try_lock(file, FolderLock::Kind::alone).has_value());
    CHECK_FALSE(FolderLock::try_lock(file, FolderLock::Kind::shared).has_value());
  }
  const auto first = FolderLock::try_lock(file, FolderLock::Kind::shared);
  CHECK(first.has_value());
  CHECK(FolderLock::try_lock(file, FolderLock::Kind::shared).has_value());
  CHECK_FALSE(FolderLock::try_lock(file, FolderLock::Kind::alone).has_value());
}

}  // namespace shardsim::point_files_test
