#include "study/scenario/tables_from.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/tree/map_reader.h"
#include "study/scenario/scenario.h"

namespace shardsim::tables_from_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPool =
    "schema: shardsim.workload/1\nname: pool\nbatch_per_gpu: 8\ntables:\n"
    "  - {name: a, rows: 100, dim: 4, kind: pooled, pooling_factor: 3}\n"
    "  - {name: b, copies: 3, rows: 200, dim: 8, kind: pooled, access: {family: steps, rows: [5], weights: [1]}}\n"
    "  - {name: c, rows: 300, dim: 16, kind: pooled, dtype: fp16}\n";

// A folder with the pool that goes with the test.
struct PoolFolder {
  fs::path path = fs::temp_directory_path() / ("shardsim_tables_from_test_" + std::to_string(getpid()));
  PoolFolder() {
    fs::create_directories(path);
    write_file(path / "pool.yaml", kPool);
  }
  ~PoolFolder() { fs::remove_all(path); }

  Workload workload(const std::string& keys) const {
    const std::string text =
        "schema: shardsim.scenario/1\ncluster: toy_2x4\nplanner: {name: row_wise}\nworkload: {name: w, "
        "batch_per_gpu: 2, " +
        keys + "}\n";
    return scenario_from_text(text, (path / "s.yaml").string(), {}).cases[0].workload;
  }

  void check_refused(const std::string& keys, const char* fragment) const {
    CAPTURE(keys);
    CHECK_THROWS_WITH_AS(workload(keys), doctest::Contains(fragment), Error);
    CHECK_THROWS_WITH_AS(workload(keys), doctest::Contains(".yaml:"), Error);
  }
};

}  // namespace

TEST_CASE("tables are taken of another workload by number, each with columns of its own") {
  const PoolFolder folder;
  const Workload w =
      folder.workload("tables_from: {workload: pool.yaml, tables: [3, 0, 3, 4], dims: [32, 64, 128, 8]}");
  REQUIRE(w.tables.size() == 4);
  CHECK(w.batch_per_gpu == 2);
  CHECK(w.tables[0].name == "b_2");
  CHECK(w.tables[0].rows == 200);
  CHECK(w.tables[0].dim == 32);
  CHECK(w.tables[0].access.steps.size() == 1);
  CHECK(w.tables[0].features[0].name == "b_2");
  CHECK(w.tables[1].name == "a");
  CHECK(w.tables[1].average_length == 3);
  CHECK(w.tables[2].name == "b_2.2");
  CHECK(w.tables[2].dim == 128);
  CHECK(w.tables[3].dtype == Dtype::fp16);
}

TEST_CASE("without dims tables keep theirs, and dtype holds for all") {
  const PoolFolder folder;
  const Workload w = folder.workload("tables_from: {workload: pool.yaml, tables: [0, 4], dtype: bf16}");
  CHECK(w.tables[0].dim == 4);
  CHECK(w.tables[1].dim == 16);
  CHECK(w.tables[0].dtype == Dtype::bf16);
  CHECK(w.tables[1].dtype == Dtype::bf16);
}

TEST_CASE("pooled tables become sequences of as many items") {
  const PoolFolder folder;
  const Workload w = folder.workload("tables_from: {workload: pool.yaml, tables: [0, 1], kind: sequence}");
  CHECK(w.tables[0].kind == TableKind::sequence);
  CHECK(w.tables[0].average_length == 3);
  CHECK(w.tables[1].kind == TableKind::sequence);
  CHECK(w.tables[1].average_length == 1);
  CHECK(w.tables[1].access.steps.size() == 1);
  folder.check_refused("tables_from: {workload: pool.yaml, tables: [0], kind: pooled}", "sequence");
}

TEST_CASE("tables that are not there are refused") {
  const PoolFolder folder;
  const auto refused = [&](const std::string& keys, const char* fragment) {
    folder.check_refused("tables_from: {" + keys + "}", fragment);
  };
  refused("workload: pool.yaml, tables: [5]", "there is no table 5");
  refused("workload: pool.yaml, tables: []", "tables: the list is empty");
  refused("workload: pool.yaml", "'tables_from.tables' is missing");
  refused("tables: [0]", "'tables_from.workload' is missing");
  refused("workload: pools.yaml, tables: [0]", "cannot find the workload");
  refused("workload: pool.yaml, tables: [0], dims: [4, 4]", "2 dims of 1 tables");
  refused("workload: pool.yaml, tables: [0], dims: [0]", "dim");
  refused("workload: pool.yaml, tables: [0], dim: [4]", "unknown key");
  folder.check_refused("tables: [], tables_from: {workload: pool.yaml, tables: [0]}",
                       "and 'tables' cannot be used together");
}

TEST_CASE("a workload that takes its tables of itself is refused") {
  const PoolFolder folder;
  write_file(folder.path / "circle.yaml",
             "schema: shardsim.workload/1\nname: c\nbatch_per_gpu: 8\n"
             "tables_from: {workload: circle.yaml, tables: [0]}\n");
  folder.check_refused("tables_from: {workload: circle.yaml, tables: [0]}", "more than 8 workloads");
}

TEST_CASE("drawn tasks as a scenario are the cases that were drawn") {
  const PoolFolder folder;
  TaskLaw law;
  law.tasks = 12;
  law.least_tables = 2;
  law.most_tables = 4;
  law.most_dim = 16;
  law.dtype = Dtype::fp16;
  TaskSetting setting;
  setting.made_by = "test";
  setting.title = "twelve \"tasks\"";
  setting.pool = "pool.yaml";
  setting.cluster = "pcie_4gib_x4";
  setting.memory = "7 GiB";
  setting.batch_per_gpu = 16;
  setting.tests = 2;
  const Workload pool = folder.workload("tables_from: {workload: pool.yaml, tables: [0, 1, 2, 3, 4]}");
  const std::vector<Task> tasks = draw_tasks(pool.tables, law, 3, {});
  const Scenario scenario =
      scenario_from_text(tasks_to_yaml(tasks, law, setting), (folder.path / "tasks.yaml").string(), {});
  CHECK(scenario.title == "twelve \"tasks\"");
  REQUIRE(scenario.cases.size() == 12);
  CHECK(scenario.cases[0].name == "train/0");
  CHECK(scenario.cases[11].name == "test/1");
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Case& item = scenario.cases[i];
    REQUIRE(item.workload.tables.size() == tasks[i].tables.size());
    CHECK(item.workload.batch_per_gpu == 16);
    CHECK(item.cluster.gpu.hbm.count == std::int64_t{7} << 30);
    for (std::size_t t = 0; t < tasks[i].tables.size(); ++t) {
      CHECK(item.workload.tables[t].rows == pool.tables[tasks[i].tables[t]].rows);
      CHECK(item.workload.tables[t].dim == tasks[i].dims[t]);
      CHECK(item.workload.tables[t].dtype == Dtype::fp16);
    }
  }
}

}  // namespace shardsim::tables_from_test
