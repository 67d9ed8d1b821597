#include "study/scenario/included_files.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "study/scenario/scenario.h"
#include "tests/base/error_text.h"

namespace shardsim::included_files_test {

namespace fs = std::filesystem;

namespace {

const std::string kSchema = "schema: shardsim.scenario/1\n";

// A folder of its own that goes with the test.
struct Scratch {
  fs::path path = fs::temp_directory_path() / ("shardsim_included_files_test_" + std::to_string(getpid()));
  Scratch() { fs::create_directories(path / "inner"); }
  ~Scratch() { fs::remove_all(path); }
  std::string put(const std::string& name, const std::string& text) const {
    write_file(path / name, kSchema + text);
    return (path / name).string();
  }
  // A file of one table on the toy cluster with these cases.
  std::string put_cases(const std::string& name, const std::string& more) const {
    return put(name, "cluster: toy_2x4\nworkload: toy_history\nplanner: {name: row_wise}\n" + more);
  }
};

std::string error_reading(const std::string& path, const Overrides& overrides = {}) {
  return error_of([&] { read_scenario(path, overrides); });
}

std::vector<std::string> names_of(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const Case& item : scenario.cases) names.push_back(item.name);
  return names;
}

}  // namespace

TEST_CASE("cases of included files come first, in order, with their own files' defaults and places") {
  const Scratch scratch;
  write_file(scratch.path / "inner/two.yaml", "schema: shardsim.cluster/1\nbase: toy_2x4\nname: two\nnodes: 3\n");
  scratch.put("inner/a.yaml",
              "title: A\ncluster: two.yaml\nworkload: toy_history\nplanner: {name: row_wise}\niterations: 7\n"
              "cases: [{name: a/1}, {name: a/2, overlap: false}]\n");
  scratch.put_cases("b.yaml", "");
  const Scenario scenario = read_scenario(
      scratch.put_cases("all.yaml",
                        "title: All\niterations: 5\ninclude: [inner/a.yaml, b.yaml]\ncases: [{name: own}]\n"),
      {});
  CHECK(scenario.title == "All");
  CHECK(names_of(scenario) == std::vector<std::string>{"a/1", "a/2", "main", "own"});
  CHECK(scenario.cases[0].cluster.name == "two");
  CHECK(scenario.cases[0].cluster.nodes == 3);
  CHECK(scenario.cases[0].iterations == 7);
  CHECK_FALSE(scenario.cases[1].overlap);
  CHECK(scenario.cases[2].iterations == 4);
  CHECK(scenario.cases[3].iterations == 5);
  CHECK(scenario.cases[1].place.source.ends_with("inner/a.yaml"));
  CHECK(scenario.text.find("title: A\n") != std::string::npos);
}

TEST_CASE("included files may include others, jobs keep their fabric") {
  const Scratch scratch;
  scratch.put_cases("one.yaml", "cases: [{name: one}]\n");
  scratch.put("jobs.yaml",
              "cluster: toy_2x4\ncases:\n  - name: both\n    jobs:\n"
              "      - {name: x, workload: toy_history, planner: {name: row_wise}, nodes: [0]}\n"
              "      - {name: y, workload: toy_history, planner: {name: row_wise}, nodes: [1]}\n");
  scratch.put("middle.yaml", "include: [one.yaml, jobs.yaml]\n");
  const Scenario scenario = read_scenario(scratch.put("top.yaml", "include: [middle.yaml]\n"), {});
  CHECK(names_of(scenario) == std::vector<std::string>{"one", "both/x", "both/y"});
  REQUIRE(scenario.fabrics.size() == 1);
  CHECK(scenario.fabrics[0].jobs == std::vector<std::size_t>{1, 2});
}

TEST_CASE(
    "the command line changes included cases as its --case says, those of a number only in the file that is run") {
  const Scratch scratch;
  scratch.put_cases("a.yaml", "cases: [{name: a/1}, {name: a/2}]\n");
  const std::string top = scratch.put_cases("top.yaml", "include: [a.yaml]\ncases: [{name: own}]\n");
  Overrides overrides;
  overrides.set = {{"iterations", "9"}, {"title", "T"}, {"cases.0.overlap", "false"}};
  overrides.only_cases = {"a/2", "own"};
  const Scenario scenario = read_scenario(top, overrides);
  CHECK(scenario.title == "T");
  CHECK(scenario.cases[0].iterations == 4);
  CHECK(scenario.cases[1].iterations == 9);
  CHECK(scenario.cases[0].overlap);
  CHECK(scenario.cases[1].overlap);
  CHECK_FALSE(scenario.cases[2].overlap);
  Overrides by_number;
  by_number.set = {{"cases.0.overlap", "false"}};
  CHECK(
      says(error_reading(scratch.put("bare.yaml", "include: [a.yaml]\n"), by_number), "change the file that has them"));
}

TEST_CASE("one run has one seed") {
  const Scratch scratch;
  scratch.put_cases("a.yaml", "seed: 7\n");
  const std::string top = scratch.put("top.yaml", "include: [a.yaml]\n");
  CHECK(says(error_reading(top), "the seed is 7 here and 1 in"));
  Overrides overrides;
  overrides.seed = 3;
  CHECK(read_scenario(top, overrides).seed == 3);
  CHECK(error_reading(scratch.put("same.yaml", "seed: 7\ninclude: [a.yaml]\n")).empty());
}

TEST_CASE("what cannot be included is refused where it stands") {
  const Scratch scratch;
  scratch.put_cases("a.yaml", "cases: [{name: a}]\n");
  const auto error_of_top = [&](const std::string& text) { return error_reading(scratch.put("top.yaml", text)); };
  CHECK(says(error_of_top("include: [none.yaml]\n"), "top.yaml:2:11: cannot find the scenario"));
  CHECK(says(error_of_top("include: []\n"), "'include' is empty"));
  CHECK(says(error_of_top("include: a.yaml\n"), "'include' is no list"));
  CHECK(says(error_of_top("include: [a.yaml, a.yaml]\n"), "two cases are named"));
  CHECK(says(error_of_top("include: [top.yaml]\n"), "in a circle"));
  CHECK(says(error_of_top("include: [a.yaml]\niterations: 5\n"), "'iterations' has no effect"));
  scratch.put("b.yaml", "include: [c.yaml]\n");
  scratch.put("c.yaml", "include: [inner/../b.yaml]\n");
  CHECK(says(error_of_top("include: [b.yaml]\n"), "c.yaml:2:11: the files include each other in a circle"));
  write_file(scratch.path / "cluster.yaml", "schema: shardsim.cluster/1\n");
  CHECK(says(error_of_top("include: [cluster.yaml]\n"), "cluster.yaml:1:"));
  scratch.put_cases("bad.yaml", "itterations: 4\n");
  CHECK(says(error_of_top("include: [bad.yaml]\n"), "bad.yaml:5:"));
}

TEST_CASE("files in a row are limited") {
  const Scratch scratch;
  scratch.put_cases("0.yaml", "");
  for (int i = 1; i <= 9; ++i)
    scratch.put(std::to_string(i) + ".yaml", "include: [" + std::to_string(i - 1) + ".yaml]\n");
  CHECK(error_reading((scratch.path / "8.yaml").string()).empty());
  CHECK(says(error_reading((scratch.path / "9.yaml").string()), "more than 8 files"));
}

}  // namespace shardsim::included_files_test
