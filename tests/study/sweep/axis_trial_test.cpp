#include "study/sweep/axis_trial.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/files.h"
#include "study/sweep/read_sweep.h"
#include "tests/temporary_folder.h"

namespace shardsim::axis_trial_test {

namespace {

constexpr const char* kHead = "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\n";
constexpr const char* kPlanner = "planner: {name: row_wise}\n";

// The messages about wrong values; the places begin with "test.yaml".
std::vector<std::string> wrong(const std::string& sweep, const std::string& head = std::string(kHead) + kPlanner) {
  std::vector<std::string> texts;
  const SweepRequest request{.keep_hopeless_axes = true};
  for (const Error& error : wrong_values(sweep_from_text(head + "sweep:\n" + sweep, "test.yaml", {}, request))) {
    CHECK(error.failure() == Failure::input);
    texts.emplace_back(error.what());
  }
  return texts;
}

void check_wrong(const std::vector<std::string>& texts, const std::vector<std::string>& starts) {
  REQUIRE(texts.size() == starts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) CHECK_MESSAGE(texts[i].starts_with(starts[i]), texts[i]);
}

}  // namespace

TEST_CASE("all wrong values are told, each at its place, in the order of the axes") {
  check_wrong(wrong("  axes:\n"
                    "    planner: [row_wise, row_wize, {label: three, name: flexshard_3tier, cutt: paper}]\n"
                    "    cluster.nics.rate: [80 Gbit/s, 80 GiB, \"1,5 GB/s\"]\n"
                    "    iterations: [2, two]\n"),
              {"test.yaml:7:25: unknown planner 'row_wize'", "test.yaml:7:73: unknown key \"cutt\"",
               "test.yaml:8:36: nics.rate: \"80 GiB\"", "test.yaml:8:44: nics.rate: \"1,5 GB/s\"",
               "test.yaml:9:21: iterations: \"two\""});
}

TEST_CASE("a value that meets others badly is not wrong: it is tried beside them") {
  // Zipped values are read together, as the points have them.
  check_wrong(wrong("  zip: {planner: [row_wise, column_wise], cluster.nics.rate: [1 GB/s, 2 GBs]}\n"),
              {"test.yaml:6:71:"});
  // A plan that does not fit is not bad input.
  CHECK(wrong("  axes: {cluster.gpu.hbm: [1 KiB, 16 GiB]}\n").empty());
  // A value that fails beside the case as it is may be right beside the second value of another axis.
  CHECK(wrong("  axes: {workload.input_exchange: [ids, none], workload.pipeline: [none, sparse_dist]}\n",
              "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: {base: toy_history, tables: [{name: t, rows: "
              "100, dim: 4, kind: pooled}]}\nplanner: {name: row_wise}\n")
            .empty());
}

TEST_CASE("a value that no point takes is not read for nothing") {
  CHECK(wrong("  axes: {planner: [row_wise, row_wize], iterations: [2, 3]}\n  where: planner == row_wise\n").empty());
}

TEST_CASE("files that a value names are read") {
  const TemporaryFolder folder("axis_trial");
  const std::string name = (folder / "own.yaml").string();
  write_file(name, "schema: shardsim.workload/1\nname: own\nbase: toy_history\nbatch_per_gpu: many\n");
  check_wrong(wrong("  axes: {workload: [toy_history, " + name + ", toy_histori]}\n"),
              {name + ":4:16: batch_per_gpu: \"many\"", "test.yaml:6:"});
}

TEST_CASE("files that a planner names are there, and what else a value breaks is told at the value") {
  check_wrong(wrong("  axes: {plan: [{file: no1.json}]}\n"), {"test.yaml:6:24: cannot read \"no1.json\""});
  check_wrong(wrong("  axes: {planner: [row_wise, {name: search, evaluations: 10, start: no.json}, {name: autoshard, "
                    "policy: no.h5}]}\n"),
              {"test.yaml:6:69: cannot read \"no.json\"", "test.yaml:6:105: cannot read \"no.h5\""});
  check_wrong(wrong("  axes: {workload.tables.0.rows: [1e15]}\n"),
              {"test.yaml:6:35: with this value of 'workload.tables.0.rows': "});
}

TEST_CASE("of ranges and draws the ends are read, and told once") {
  check_wrong(wrong("  axes: {workload.batch_per_gpu: {from: 1e9, to: 2e9, factor: 2}, iterations: [2]}\n"
                    "  random: {points: 50, axes: {overlap: [true, treu]}}\n"),
              {"test.yaml:6:34: batch_per_gpu", "test.yaml:7:47: overlap: \"treu\""});
}

TEST_CASE("an axis without a right value is told once where its path is wrong, else value by value") {
  check_wrong(wrong("  axes: {cluster.nics.speed: [1 GB/s, 2 GB/s, 3 GB/s], iterations: [one, two]}\n"),
              {"test.yaml:6:31: ", "test.yaml:6:69: iterations: \"one\"", "test.yaml:6:74: iterations: \"two\""});
}

TEST_CASE("thousands of axes are read in one reading, also where some are wrong") {
  std::string tables, axes;
  for (int i = 0; i < 1000; ++i) {
    tables += fmt::format("{{name: t{}, rows: 10, dim: 4, kind: pooled}}, ", i);
    axes += fmt::format("    workload.tables.t{}.rows: [{}]\n", i, i % 100 == 7 ? "ten" : "20");
  }
  const std::string head = "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: {base: toy_history, tables: [" +
                           tables + "]}\n" + kPlanner;
  CHECK(wrong("  axes:\n" + axes, head).size() == 10);
}

}  // namespace shardsim::axis_trial_test
