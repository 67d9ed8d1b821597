#include "study/scenario/scenario.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/tree/map_reader.h"
#include "tests/base/error_text.h"
#include "tests/study/scenario_text.h"

namespace shardsim::scenario_test {

using namespace shardsim::test;
namespace fs = std::filesystem;

namespace {

// A complete scenario; `more` follows its last line.
std::string toy(const std::string& more) {
  return "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: row_wise}\n" + more;
}

const Published& published(const Case& item, const std::string& quantity) {
  return *std::ranges::find(item.published, quantity, &Published::quantity);
}

// A folder of its own that goes with the test.
struct Scratch {
  fs::path path = fs::temp_directory_path() / ("shardsim_scenario_test_" + std::to_string(getpid()));
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
  std::string put(const std::string& name, const std::string& text) const {
    write_file(path / name, text);
    return (path / name).string();
  }
};

}  // namespace

TEST_CASE("the FlexShard study has its twelve cases and the numbers that the paper printed") {
  const Scenario study = read_scenario(kFolder + "flexshard.yaml", {});
  REQUIRE(study.cases.size() == 12);
  CHECK(study.cases.front().name == "rm1/row_wise");
  CHECK(study.cases.back().name == "rm4/flexshard_3tier");
  CHECK(study.seed == 7);
  CHECK(study.cases[4].workload.name == "rm2");
  CHECK(study.cases[4].cluster.name == "a100_mesh_4x8");

  // FlexShard paper, Table 6 (times) and Table 5 (rows, coverage).
  const Case& rm1_3tier = study.cases[2];
  CHECK(published(rm1_3tier, "global_all_to_all").value == 99.0);
  CHECK(published(rm1_3tier, "intra_node_all_to_all").value == 30.0);
  CHECK(published(rm1_3tier, "cross_node_all_reduce").value == 14.0);
  CHECK(published(rm1_3tier, "rows:flex").value == 1184544.0);
  CHECK(published(rm1_3tier, "coverage:flex").value == 30.6);
  CHECK(published(study.cases[0], "global_all_to_all").value == 307.0);
  CHECK(published(study.cases[3], "global_all_to_all").value == 308.0);
  CHECK(published(study.cases[8], "cross_node_all_reduce").role == PublishedRole::fitted);
  CHECK(published(rm1_3tier, "iteration").judged());
  CHECK(published(rm1_3tier, "iteration").derived);
  CHECK(published(rm1_3tier, "throughput_gain").value == 81.0);
  CHECK(rm1_3tier.relative_to == "rm1/row_wise");
}

TEST_CASE("cases in a row share a workload where it is the same one, at the same place") {
  const std::string own =
      "{name: w, batch_per_gpu: 32, tables: [{name: t, rows: 100, dim: 8, kind: pooled, pooling_factor: 1}]}";
  const Scenario scenario =
      read(toy("cases:\n  - {name: a}\n  - {name: b, set: {cluster.nodes: 4}}\n"
               "  - {name: c, set: {workload.tables.0.rows: 900}}\n  - {name: d}\n"
               "  - {name: e, workload: " +
               own + "}\n  - {name: f, workload: " + own + "}\n"));
  const std::vector<Case>& cases = scenario.cases;
  CHECK(cases[1].workload == cases[0].workload);
  CHECK(cases[1].workload.tables[0].place == cases[0].workload.tables[0].place);
  CHECK(cases[2].workload.tables[0].rows == 900);
  CHECK(cases[3].workload == cases[0].workload);
  CHECK(cases[5].workload == cases[4].workload);
  CHECK(cases[4].workload.tables[0].place.line == 10);
  CHECK(cases[5].workload.tables[0].place.line == 11);
}

TEST_CASE("row counts of Table 5 add up to the table in every case that prints them") {
  for (const Case& item : read_scenario(kFolder + "flexshard.yaml", {}).cases) {
    double rows = 0, coverage = 0;
    for (const Published& number : item.published) {
      if (number.quantity.starts_with("rows:")) rows += number.value;
      if (number.quantity.starts_with("coverage:")) coverage += number.value;
    }
    CAPTURE(item.name);
    if (rows == 0) continue;
    CHECK(rows == static_cast<double>(item.workload.tables[0].rows));
    CHECK(coverage == doctest::Approx(100).epsilon(0.0011));  // printed with one decimal, up to three of them
  }
}

TEST_CASE("the unit of a published number follows from its quantity") {
  const Scenario study =
      read(toy("cases:\n"
               "  - {name: base}\n"
               "  - name: other\n"
               "    relative_to: base\n"
               "    published:\n"
               "      - {quantity: iteration, value: \"1.5 s\", role: predicted, source: x}\n"
               "      - {quantity: \"rows:flex\", value: 12, role: predicted, source: x, payload: observed, note: n}\n"
               "      - {quantity: throughput_gain, value: \"7.5 %\", role: fitted, source: x}\n"
               "      - {quantity: \"operation:lookup\", value: \"250 us\", role: predicted, source: x}\n"));
  const std::vector<Published>& numbers = study.cases[1].published;
  CHECK(numbers[0] == Published{"iteration", 1500, "ms", PublishedRole::predicted, {}, false, "x", false, false, ""});
  CHECK(numbers[1] == Published{"rows:flex", 12, "rows", PublishedRole::predicted, {}, false, "x", true, false, "n"});
  CHECK(numbers[2] == Published{"throughput_gain", 7.5, "%", PublishedRole::fitted, {}, false, "x", false, false, ""});
  CHECK(numbers[3] ==
        Published{"operation:lookup", 0.25, "ms", PublishedRole::predicted, {}, false, "x", false, false, ""});
}

TEST_CASE("every shipped scenario, cluster and workload reads") {
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    CHECK_NOTHROW(read_scenario(entry.path().string(), {}));
  }
  for (const std::string& name : shipped("clusters")) {
    CHECK(read_cluster(load_named(name, "clusters", "", {})).name == name);
  }
  for (const std::string& name : shipped("workloads")) {
    CHECK(read_workload(load_named(name, "workloads", "", {}), "").name == name);
  }
}

TEST_CASE("a scenario without cases has one, named main, with the documented defaults") {
  const Scenario scenario = read(toy(""));
  REQUIRE(scenario.cases.size() == 1);
  const Case& item = scenario.cases[0];
  CHECK(scenario.title == "test.yaml");
  CHECK(scenario.seed == 1);
  CHECK(item.name == "main");
  CHECK(item.cluster.nodes == 2);
  CHECK(item.compute_model.find("name")->scalar == "roofline");
  CHECK(item.memory_model.find("name")->scalar == "paper");
  CHECK(item.network.find("name")->scalar == "fair_queues");
  CHECK(item.iterations == 4);
  CHECK(item.steady == 1e-6);
  CHECK(item.overlap);
  CHECK(item.payload_both);
}

TEST_CASE("each source of a value beats the ones below it") {
  const std::string base = "schema: shardsim.scenario/1\nworkload: toy_history\nplanner: {name: row_wise}\n";
  const std::string beside = base + "cluster: {base: toy_2x4, nodes: 3}\n";
  const std::string by_case = beside + "cases:\n  - {name: a, cluster: {base: toy_2x4, nodes: 4}}\n";
  const std::string by_set =
      beside + "cases:\n  - {name: a, cluster: {base: toy_2x4, nodes: 4}, set: {cluster.nodes: 5}}\n";
  CHECK(read(base + "cluster: toy_2x4\n").cases[0].cluster.nodes == 2);
  CHECK(read(beside).cases[0].cluster.nodes == 3);
  CHECK(read(by_case).cases[0].cluster.nodes == 4);
  CHECK(read(by_set).cases[0].cluster.nodes == 5);
  CHECK(read(by_set, set("cluster.nodes", "6")).cases[0].cluster.nodes == 6);
  CHECK(read(by_set, set("cases.0.cluster.nodes", "7")).cases[0].cluster.nodes == 7);
}

TEST_CASE("a case key replaces the whole value; set edits one leaf and leaves the other cases alone") {
  const std::string text =
      "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\n"
      "planner: {name: flexshard_3tier, cut: optimal, flex_stop: \"off\"}\n"
      "cases:\n  - {name: kept}\n  - {name: replaced, planner: {name: row_wise}}\n"
      "  - {name: edited, set: {planner.cut: paper}}\n";
  const Scenario scenario = read(text);
  CHECK(scenario.cases[0].planner.find("cut")->scalar == "optimal");
  CHECK(scenario.cases[1].planner.find("cut") == nullptr);
  CHECK(scenario.cases[2].planner.find("cut")->scalar == "paper");
  CHECK(scenario.cases[2].planner.find("flex_stop")->scalar == "off");
  const Scenario argued = read(text, set("cases.0.planner.cut", "crossover"));
  CHECK(argued.cases[0].planner.find("cut")->scalar == "crossover");
  CHECK(argued.cases[2].planner.find("cut")->scalar == "paper");
}

TEST_CASE("a case with a plan file drops the planner above it, with the path seen from the scenario") {
  const Scenario scenario = read(toy("cases:\n  - {name: a, plan: {file: plans/p.json}}\n  - {name: b}\n"));
  CHECK(scenario.cases[0].plan_file == kFolder + "plans/p.json");
  CHECK(scenario.cases[0].planner.kind == Tree::Kind::null);
  CHECK(scenario.cases[1].plan_file.empty());
  CHECK(scenario.cases[1].planner.find("name")->scalar == "row_wise");
}

TEST_CASE("--seed, --memory-model and --set of the title reach the scenario") {
  Overrides overrides = set("title", "mine");
  overrides.seed = 42;
  const std::string text = toy("seed: 3\nmemory_model: {name: paper, dp_static_multiplier: 5}\n");
  overrides.memory_model = "paper";
  const Scenario scenario = read(text, overrides);
  CHECK(scenario.title == "mine");
  CHECK(scenario.seed == 42);
  // The same model keeps its parameters.
  CHECK(scenario.cases[0].memory_model.find("dp_static_multiplier")->scalar == "5");
}

TEST_CASE("an error of the command line names the argument") {
  CHECK(says(scenario_error(toy(""), set("cluster.nodes", "0")), "argument --set cluster.nodes: "));
  CHECK(says(scenario_error(toy(""), set("cluster.nodez", "8")), "argument --set cluster.nodez: "));
  CHECK(says(scenario_error(toy(""), set("clutser.nodes", "8")), "Did you mean 'cluster'"));
  CHECK(says(scenario_error(toy(""), set("cases.1.overlap", "false")), "cases are numbered 0 to 0"));
  CHECK(says(scenario_error(toy(""), set("cases", "[]")), "does not name a key of a case"));
  CHECK(says(scenario_error(toy(""), set("relative_to", "x")), "belongs to a case"));
  CHECK(says(scenario_error(toy(""), set("plan.file", "x")), "has no 'plan' to change"));
  CHECK(says(scenario_error(toy(""), set("cluster.base", "x")), "'base' cannot be set alone"));
  CHECK(says(scenario_error(toy(""), set("cluster", "toy_2x5")), "argument --set cluster: unknown cluster"));
  CHECK(says(scenario_error(toy(""), set("schema", "x")), "argument --set schema: "));
  CHECK(says(scenario_error(toy(""), set("", "x")), "argument --set : "));
}

TEST_CASE("unknown names are refused with the known ones") {
  const std::string cluster = scenario_error(
      "schema: shardsim.scenario/1\ncluster: toy_2x5\nworkload: toy_history\nplanner: {name: row_wise}\n");
  CHECK(says(cluster, "test.yaml:2:"));
  CHECK(says(cluster, "Did you mean 'toy_2x4'"));
  CHECK(says(cluster, "a100_mesh_4x8"));
  CHECK(says(scenario_error(toy("planer: {name: row_wise}\n")), "test.yaml:5:1: unknown key"));
  CHECK(says(scenario_error(toy("cases:\n  - {name: a, planer: 3}\n")), "Did you mean 'planner'"));
  CHECK(says(scenario_error(toy("cases:\n  - {name: a, planner: {name: row_wize}}\n")), "Did you mean 'row_wise'"));
  CHECK(says(scenario_error(toy("cases:\n  - {name: a, planner: {name: row_wise, cut: paper}}\n")), "unknown key"));
  CHECK(says(scenario_error(toy("compute_model: {name: rooflin}\n")), "Did you mean 'roofline'"));
  CHECK(says(scenario_error(toy("memory_model: {name: papr}\n")), "Did you mean 'paper'"));
  CHECK(says(scenario_error(toy("network: {name: simgird}\n")), "Did you mean 'simgrid'"));
  CHECK(says(scenario_error(toy("collectives: {all_reduce: rings}\n")), "Did you mean 'ring'"));
  CHECK(says(scenario_error(toy("collectives: {all_redcue: ring}\n")), "Did you mean 'all_reduce'"));
  CHECK(says(scenario_error(toy("cases:\n  - {name: a, seed: 2}\n")), "unknown key"));  // one seed for all cases
  CHECK(says(scenario_error(toy("cases:\n  - {name: a, set: {clutser.nodes: 1}}\n")), "Did you mean 'cluster'"));
}

TEST_CASE("a key of the top level that every case replaces is read all the same") {
  const auto error_of = [](const std::string& key, const std::string& replaced) {
    const std::string top = key.starts_with("cluster") ? "" : "cluster: toy_2x4\n";
    const std::string model = key.starts_with("workload") ? "" : "workload: toy_history\n";
    return scenario_error("schema: shardsim.scenario/1\n" + key + "\n" + top + model + "cases: [{name: a, " + replaced +
                          ", planner: {name: row_wise}, cluster: toy_2x4, workload: toy_history}]\n");
  };
  CHECK(says(error_of("cluster: {base: toy_2x4, nodes: -3}", "seed_of_test: 0"), "unknown key"));  // its own first
  CHECK(says(error_of("cluster: {base: toy_2x4, nodes: -3}", "iterations: 4"), "test.yaml:2:33"));
  CHECK(says(error_of("workload: {base: toy_history, batch_per_gpu: -1}", "iterations: 4"), "batch_per_gpu"));
  CHECK(says(error_of("software: nope", "software: ideal"), "unknown software"));
  CHECK(says(error_of("memory_model: {name: nope}", "memory_model: {name: torchrec}"), "unknown memory model"));
  CHECK(says(error_of("compute_model: {name: nope}", "compute_model: {name: roofline}"), "unknown compute model"));
  CHECK(says(error_of("network: {name: nope}", "network: {name: closed_form}"), "unknown network"));
  CHECK(says(error_of("load: {placement: x}", "load: {placement: 3}"), "placement"));
  CHECK(says(error_of("collectives: {all_reduce: nope}", "collectives: {all_reduce: ring}"), "all_reduce"));
  CHECK(says(error_of("iterations: 99999", "iterations: 4"), "from 1 to 10000"));
  CHECK(says(error_of("payload: nope", "payload: planned"), "payload"));
  // A value that the command line replaces is not looked at.
  Overrides overrides;
  overrides.set = {{"software", "ideal"}};
  CHECK_NOTHROW(
      read("schema: shardsim.scenario/1\nsoftware: nope\ncluster: toy_2x4\nworkload: toy_history\n"
           "planner: {name: row_wise}\ncases: [{name: a, software: ideal}]\n",
           overrides));
}

TEST_CASE("what makes no scenario is refused with its place") {
  CHECK(says(scenario_error("cluster: toy_2x4\n"), "'schema' is missing"));
  CHECK(says(scenario_error("schema: shardsim.cluster/1\n"), "test.yaml:1:9"));
  CHECK(says(scenario_error("schema: shardsim.scenario/1\n"), "has no cluster"));
  CHECK(says(scenario_error("schema: shardsim.scenario/1\ncluster: toy_2x4\n"), "has no workload"));
  CHECK(
      says(scenario_error("schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\n"), "has no planner"));
  // Nor is one of the top level taken for a planner because all cases have their own.
  CHECK(says(
      scenario_error("schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: no_such}\n"
                     "cases: [{name: a, planner: {name: row_wise}}]\n"),
      "unknown planner 'no_such'"));
  CHECK(says(scenario_error(toy("plan: {file: p.json}\n")), "'plan' beside 'planner'"));
  CHECK(says(scenario_error(toy("cases: []\n")), "'cases' is empty"));
  CHECK(says(scenario_error(toy("cases: 3\n")), "'cases' is no list"));
  CHECK(says(scenario_error(toy("iterations: 10001\n")), "from 1 to 10000"));
  CHECK(says(scenario_error(toy("iterations: 0\n")), "test.yaml:5:"));
  CHECK(says(scenario_error(toy("steady: 0\n")), "not above 0"));
  CHECK(says(scenario_error(toy("seed: -1\n")), "test.yaml:5:"));
  CHECK(says(scenario_error(toy("overlap: yes\n")), "true or false"));
  CHECK(says(scenario_error(toy("cluster_file: x\n")), "unknown key"));
  CHECK(says(scenario_error("schema: shardsim.scenario/1\ncluster: clusters/none.yaml\nworkload: toy_history\n"),
             "cannot find the cluster file"));
  CHECK(says(scenario_error("schema: shardsim.scenario/1\ncluster: workloads/rm1.yaml\nworkload: rm1\n"),
             "shardsim.workload/1"));
  CHECK(says(scenario_error("schema: shardsim.scenario/1\ncluster: [1]\nworkload: rm1\n"), "test.yaml:2:"));
}

TEST_CASE("a file without a name is refused where it is named") {
  const std::string head = "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\n";
  for (const char* const line : {"planner: {name: search, start: ''}", "planner: {name: neuroshard, costs: {file: ''}}",
                                 "planner: {name: autoshard, policy: ''}", "plan: {file: ''}",
                                 "planners: [row_wise, {name: search, start: ''}]"}) {
    CAPTURE(line);
    CHECK(says(scenario_error(head + line + "\n"), "test.yaml:4:"));
    CHECK(says(scenario_error(head + line + "\n"), "the file has no name. Name a file"));
  }
  CHECK(says(scenario_error(toy("compute_model: {name: measured, file: ''}\n")), "test.yaml:5:"));
  CHECK(says(scenario_error(toy("cases:\n  - {name: a, planner: {name: search, start: ''}}\n")), "test.yaml:6:"));
}

TEST_CASE("names of cases that could not be folders are refused") {
  const auto named = [](const std::string& name) { return scenario_error(toy("cases:\n  - {name: " + name + "}\n")); };
  CHECK(named("a.b/c-d_1").empty());
  for (const char* const bad : {"A", "a/", "/a", "a//b", "..", "a/../b", ".", "'a b'", "''"}) {
    CAPTURE(bad);
    CHECK(says(named(bad), "is no name of a case"));
  }
  CHECK(says(scenario_error(toy("cases:\n  - {name: a}\n  - {name: a}\n")), "test.yaml:7:"));
  CHECK(scenario_error(toy("cases:\n  - {name: rm1/a}\n  - {name: rm1-b}\n  - {name: rm1}\n")).empty());
  CHECK(says(scenario_error(toy("cases:\n  - {name: rm1/spans/a}\n  - {name: rm1/b}\n  - {name: rm1}\n")),
             "and case \"rm1\" would have the same place"));
  CHECK(says(scenario_error(toy("cases:\n  - {name: rm1}\n  - {name: rm1/rank0.json}\n")),
             "another word than 'rank0.json'"));
  CHECK(scenario_error(toy("cases:\n  - {name: rm1/a}\n  - {name: rm10}\n")).empty());
  CHECK(says(scenario_error(toy("cases:\n  - {overlap: true}\n")), "name"));
}

TEST_CASE("a baseline is another case of the scenario") {
  const std::string gain = "published: [{quantity: throughput_gain, value: \"61 %\", role: fitted, source: x}]";
  CHECK(says(scenario_error(toy("cases:\n  - {name: a, relative_to: b}\n")), "unknown case"));
  CHECK(says(scenario_error(toy("cases:\n  - {name: a, relative_to: a}\n")), "relative to itself"));
  CHECK(says(scenario_error(toy("cases:\n  - {name: a, " + gain + "}\n")), "does not say over which case"));
  CHECK(scenario_error(toy("cases:\n  - {name: a, relative_to: b, " + gain + "}\n  - {name: b}\n")).empty());
}

TEST_CASE("published numbers need quantity, unit, role and source") {
  const auto with = [](const std::string& entry) {
    return scenario_error(toy("cases:\n  - name: a\n    published:\n      - {" + entry + "}\n"));
  };
  CHECK(says(with("quantity: iterations, value: 1 ms, role: fitted, source: x"), "Did you mean 'iteration'"));
  CHECK(says(with("quantity: 'rows:flexx', value: 1, role: fitted, source: x"), "Did you mean 'rows:flex'"));
  CHECK(says(with("quantity: iteration, value: 409, role: fitted, source: x"), "test.yaml:8:"));
  CHECK(says(with("quantity: 'coverage:flex', value: 0.3, role: fitted, source: x"), "test.yaml:8:"));
  CHECK(says(with("quantity: iteration, value: 0 ms, role: fitted, source: x"), "is zero"));
  CHECK(says(with("quantity: iteration, value: 1 ms, source: x"), "role"));
  CHECK(says(with("quantity: iteration, value: 1 ms, role: fitted"), "source"));
  CHECK(says(with("quantity: iteration, value: 1 ms, role: guessed, source: x"), "guessed"));
}

TEST_CASE("bases merge map by map, relative to the file that names them, and end") {
  const Scratch scratch;
  fs::create_directories(scratch.path / "sub");
  scratch.put("sub/mine.yaml",
              "schema: shardsim.cluster/1\nbase: ../other.yaml\nname: mine\nnics: {per_gpu: 1, rate: \"40 Gbit/s\"}\n");
  scratch.put("other.yaml", "schema: shardsim.cluster/1\nbase: toy_2x4\nname: other\nnodes: 3\n");
  const Tree tree = load_named("sub/mine.yaml", "clusters", scratch.path.string(), {});
  const ClusterSpec cluster = read_cluster(tree);
  CHECK(cluster.name == "mine");
  CHECK(cluster.nodes == 3);
  CHECK(cluster.nics->rate == Bandwidth{5e9});
  CHECK(cluster.nics->latency == Seconds{2e-6});  // of toy_2x4: the map nics is merged, not replaced
  CHECK(cluster.gpu.model == "toy");

  const auto load_error = [&](const std::string& name) -> std::string {
    return error_of([&] { load_named(name, "clusters", scratch.path.string(), {}); });
  };
  scratch.put("a.yaml", "schema: shardsim.cluster/1\nbase: ./b.yaml\nname: a\n");
  scratch.put("b.yaml", "schema: shardsim.cluster/1\nbase: ./a.yaml\nname: b\n");
  CHECK(says(load_error("a.yaml"), "circle"));
  scratch.put("c0.yaml", "schema: shardsim.cluster/1\nbase: toy_2x4\nname: c0\n");
  for (int i = 1; i <= 8; ++i) {
    scratch.put("c" + std::to_string(i) + ".yaml",
                "schema: shardsim.cluster/1\nbase: c" + std::to_string(i - 1) + ".yaml\nname: c\n");
  }
  CHECK(load_error("c7.yaml").empty());  // 8 bases: c6 ... c0 and toy_2x4
  CHECK(says(load_error("c8.yaml"), "more than 8 bases"));
  CHECK(says(load_error("/dev/zero"), "not a cluster"));
  CHECK(says(load_error("."), "not a cluster"));
  CHECK(says(load_error(""), "has no name"));
}

TEST_CASE("a short file cannot stand for endless cases") {
  std::string text = toy("compute_model: {name: roofline}\ncases:\n");
  for (int i = 0; i <= 10000; ++i) text += "  - {name: c" + std::to_string(i) + "}\n";
  CHECK(says(scenario_error(text), "more than 10000 cases"));
}

namespace {

std::string fault(const std::string& text, const Overrides& overrides = {}) {
  try {
    scenario_from_text(text, kFolder + "test.yaml", overrides);
  } catch (const Error& error) {
    return error.what() + (" at " + std::to_string(error.place().line));
  }
  return "";
}

std::string seed_of(const Case& item) {
  return item.planner.find("seed")->scalar;
}

std::string random_cases(const std::string& item, const std::string& more = "") {
  return "schema: shardsim.scenario/1\ncluster: toy_2x4\nworkload: toy_history\nplanner: {name: random}\n" + more +
         "cases:\n  - {name: random" + item + "}\n  - {name: rows, planner: {name: row_wise}}\n";
}

}  // namespace

TEST_CASE("repeat makes cases that differ in the planner's seed alone") {
  const Scenario scenario = scenario_from_text(random_cases(", repeat: 3", "seed: 11\n"), kFolder + "test.yaml", {});
  REQUIRE(scenario.cases.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(scenario.cases[i].name == "random/" + std::to_string(i + 1));
    CHECK(seed_of(scenario.cases[i]) == std::to_string(11 + i));
  }
  CHECK(scenario.cases[3].name == "rows");
  Overrides overrides;
  overrides.set = {{"cases.0.repeat", "2"}, {"cases.0.planner.seed", "40"}};
  const Scenario changed = scenario_from_text(random_cases(", repeat: 3"), kFolder + "test.yaml", overrides);
  REQUIRE(changed.cases.size() == 3);
  CHECK(seed_of(changed.cases[1]) == "41");
}

TEST_CASE("repeat is refused where nothing is drawn, beside jobs, and beyond what memory should hold") {
  CHECK(fault(random_cases(", planner: {name: row_wise}, repeat: 3")).find("same plan") != std::string::npos);
  CHECK(fault(random_cases(", planner: {name: row_wise}, repeat: 3")).ends_with(" at 6"));
  CHECK(fault(random_cases(", plan: {file: x.json}, repeat: 3")).find("without a planner") != std::string::npos);
  CHECK(fault(random_cases(", repeat: 0")).find("repeat") != std::string::npos);
  CHECK(fault(random_cases(", repeat: many")).find("repeat") != std::string::npos);
  CHECK(fault(random_cases(", repeat: 1001")).find("from 1 to 1000") != std::string::npos);
  CHECK(
      fault(random_cases(", repeat: 3, jobs: [{name: a, workload: toy_history, planner: {name: random}, nodes: [0]}]"))
          .find("'repeat' and 'jobs' cannot be used together") != std::string::npos);
  CHECK(fault(random_cases("", "repeat: 3\n")).find("repeat") != std::string::npos);  // belongs to a case
}

TEST_CASE("cross_check wants three cases of one model, and known keys") {
  const std::string asks = "cross_check: {worst: 7, topology: {bwd_compute_multiplier: 3}}\n";
  const Scenario scenario = scenario_from_text(random_cases(", repeat: 2", asks), kFolder + "test.yaml", {});
  REQUIRE(scenario.cross_check);
  CHECK(scenario.cross_check->worst == 7);
  CHECK(scenario.cross_check->topology.bwd_compute_multiplier == 3.0);
  Overrides overrides;
  overrides.set = {{"cross_check.worst", "2"}};
  CHECK(scenario_from_text(random_cases(", repeat: 2", asks), kFolder + "test.yaml", overrides).cross_check->worst ==
        2);
  overrides.set = {{"cross_check", "{}"}};
  CHECK(scenario_from_text(random_cases(", repeat: 2"), kFolder + "test.yaml", overrides).cross_check->worst == 5);

  CHECK(fault(random_cases("", asks)).find("no 3 cases") != std::string::npos);
  CHECK(fault(random_cases("", asks)).ends_with(" at 5"));
  CHECK(fault(random_cases(", repeat: 2", "cross_check: {worse: 7}\n")).find("worst") != std::string::npos);
  CHECK(fault(random_cases(", repeat: 2", "cross_check: {worst: 0}\n")).find("worst") != std::string::npos);
  CHECK(fault(random_cases(", repeat: 2", "cross_check: yes\n")).find("must be a map, but is a text") !=
        std::string::npos);
  CHECK(fault(random_cases(", repeat: 2", "cross_check:\n")).find("no value") != std::string::npos);
  CHECK(fault(random_cases(", repeat: 2", "cross_check: {topology: {rates: own}}\n")).find("torchrec") !=
        std::string::npos);
}

}  // namespace shardsim::scenario_test
