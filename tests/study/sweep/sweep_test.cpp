#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/files.h"
#include "base/tree/tree_editor.h"
#include "study/sweep/point_cases.h"
#include "study/sweep/read_sweep.h"
#include "tests/base/error_text.h"
#include "tests/temporary_folder.h"

namespace shardsim::sweep_test {

namespace {

Sweep sweep_of(const std::string& lines, const SweepRequest& request = {}, const Overrides& overrides = {}) {
  const std::string head =
      "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: row_wise}\nsweep:\n";
  return sweep_from_text(head + lines, "test.yaml", overrides, request);
}

std::string error_of(const std::string& lines, const SweepRequest& request = {}) {
  return input_error_of([&] { sweep_of(lines, request); });
}

}  // namespace

TEST_CASE("points are all values of each dimension, the first changing slowest, and zipped axes move together") {
  const Sweep sweep = sweep_of(
      "  axes: {cluster.nodes: [1, 2], planner: [row_wise, column_wise]}\n"
      "  zip: {cluster.nics.rate: [10 Gbit/s, 20 Gbit/s, 40 Gbit/s], workload.batch_per_gpu: [4, 8, 16]}\n");
  CHECK(sweep.shape() == "2 x 2 x 3");
  CHECK(sweep.points.size() == 12);
  CHECK(sweep.coordinates(0) == std::vector<std::size_t>{0, 0, 0});
  CHECK(sweep.coordinates(1) == std::vector<std::size_t>{0, 0, 1});
  CHECK(sweep.coordinates(7) == std::vector<std::size_t>{1, 0, 1});
  PointCases cases(sweep);
  const Case item = cases.at(10);
  CHECK(item.cluster.nodes == 2);
  CHECK(item.planner.find("name")->scalar == "column_wise");
  CHECK(item.cluster.nics->rate.bytes_per_second == 2.5e9);
  CHECK(item.workload.batch_per_gpu == 8);
}

TEST_CASE("the case of a point is the one that --set gives") {
  const Sweep sweep =
      sweep_of("  axes: {cluster.nodes: [1, 2, 4], workload.tables.history.dim: [8, 16], overlap: [false]}\n");
  PointCases cases(sweep);
  const char* const text =
      "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: row_wise}\n";
  for (std::size_t point = 0; point < sweep.points.size(); ++point) {
    const std::vector<std::size_t> at = sweep.coordinates(point);
    Overrides overrides;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const Axis& axis = sweep.dimensions[d].axes.front();
      overrides.set.emplace_back(axis.path, axis.values[at[d]].text);
    }
    const Case due = scenario_from_text(text, "test.yaml", overrides).cases.front(), is = cases.at(point);
    CHECK(is.cluster == due.cluster);
    CHECK(is.workload == due.workload);
    CHECK(is.overlap == due.overlap);
    CHECK(is.planner == due.planner);
  }
}

TEST_CASE("conditions leave points out, over axes and other values of the case") {
  const Sweep sweep = sweep_of(
      "  axes: {cluster.nodes: [1, 2, 4], workload.batch_per_gpu: [4, 8]}\n"
      "  where: [cluster.nodes * workload.batch_per_gpu <= 16, cluster.gpu.count * cluster.nodes > 4]\n");
  CHECK(sweep.points == std::vector<std::uint32_t>{2, 3, 4});
}

TEST_CASE("a kept plan belongs to the values of planners, and to no others") {
  const Sweep sweep =
      sweep_of("  keep_plan: true\n  axes: {planner: [row_wise, column_wise], workload.batch_per_gpu: [4, 8]}\n");
  PointCases cases(sweep);
  CHECK(cases.kept_key(0) == cases.kept_key(1));
  CHECK(cases.kept_key(1) != cases.kept_key(2));
  CHECK(cases.kept_case(3).planner.find("name")->scalar == "column_wise");
  CHECK(cases.kept_case(0).workload.batch_per_gpu == cases.kept_case(3).workload.batch_per_gpu);
}

TEST_CASE("sweeps that decide the same have the same identity, others another one") {
  const char* const lines = "  axes: {cluster.nodes: [1, 2]}\n";
  const std::string identity = sweep_identity(sweep_of(lines));
  CHECK(identity == sweep_identity(sweep_of("  axes: {cluster.nodes: {from: 1, to: 2, step: 1}}\n")));
  CHECK(identity != sweep_identity(sweep_of("  axes: {cluster.nodes: [1, 4]}\n")));
  CHECK(identity != sweep_identity(sweep_of(std::string(lines) + "  keep_plan: true\n")));
  CHECK(identity != sweep_identity(sweep_of(std::string(lines) + "  where: cluster.nodes < 2\n")));
  Overrides overrides;
  overrides.set.emplace_back("iterations", "3");
  CHECK(identity != sweep_identity(sweep_of(lines, {}, overrides)));
}

TEST_CASE("what the files say that an axis or the case names decides, too") {
  const TemporaryFolder folder("sweep_files");
  const std::string name = (folder / "own.yaml").string();
  const auto write = [&](int batch) {
    write_file(name,
               fmt::format("schema: shardsim.workload/1\nname: own\nbase: toy_history\nbatch_per_gpu: {}\n", batch));
  };
  const auto identity = [&] { return sweep_identity(sweep_of("  axes: {workload: [toy_history, " + name + "]}\n")); };
  write(8);
  const std::string before = identity();
  CHECK(identity() == before);
  write(16);
  CHECK(identity() != before);
  const std::string plan = (folder / "plan.json").string();
  Sweep sweep = sweep_of("  axes: {cluster.nodes: [1, 2]}\n");
  set_path(sweep.base.keys, "plan", named_map(plan));
  write_file(plan, "{}");
  const std::string planned = sweep_identity(sweep);
  write_file(plan, "{ }");
  CHECK(sweep_identity(sweep) != planned);
}

TEST_CASE("what is no sweep is refused with its place and its count") {
  CHECK(has(error_of("  axes: {klaster.nodes: [2]}\n"), "test.yaml:6:"));
  CHECK(has(error_of("  axes: {cluster.nics.speed: [1 Gbit/s]}\n"), "speed"));
  CHECK(has(error_of("  axes: {jobs: [1]}\n"), "'jobs' cannot be an axis"));
  CHECK(has(error_of("  axes: {planners: [all]}\n"), "planner: [NAME, ...]"));
  CHECK(has(error_of("  axes: {}\n"), "has no axes"));
  CHECK(has(error_of("  keep_plan: true\n"), "the sweep has no axes"));
  CHECK(has(error_of("  axis: {cluster.nodes: [2]}\n"), "axis"));
  CHECK(has(error_of("  axes: {cluster.nodes: [2]}\n  zip: {cluster.nodes: [1]}\n"), "two axes have the name"));
  CHECK(has(error_of("  axes: {cluster: [{base: toy_2x4, nodes: 4}, toy_2x4], cluster.nodes: [1, 2]}\n"),
            "axis \"cluster.nodes\" changes what the value"));
  CHECK(has(error_of("  axes: {planner.name: [flex]}\n  zip: {planner: [row_wise]}\n"),
            "axis \"planner.name\" changes what the value \"row_wise\" of axis \"planner\" states"));
  CHECK(has(error_of("  axes: {workload.tables.0.rows: [100], workload.tables.history.rows: [200]}\n"),
            "Name the tables of all axes by number, or all by name"));
  CHECK(has(error_of("  case: other\n  axes: {cluster.nodes: [2]}\n"), "unknown case"));
  CHECK(has(error_of("  axes: {cluster.nodes: [1, 2, 4], iterations: [2, 3, 4]}\n", {{}, 8}),
            "9 points (3 x 3), and 8 are"));
  CHECK(has(error_of("  random: {points: 5000000000, axes: {cluster.nodes: [1]}}\n"), "5,000,000,000 points"));
}

}  // namespace shardsim::sweep_test
