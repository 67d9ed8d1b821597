#include "accuracy/measurements/read/system_map.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "base/tree/yaml.h"
#include "tests/accuracy/measurements/measurement_text.h"
#include "topology/graph/cluster.h"

namespace shardsim::system_map_test {

namespace {

const std::string kShipped = SHARDSIM_SOURCE_DIR "/scenarios/measurements/systems.yaml";

SystemMap map_of(const std::string& text) {
  return system_map_from_tree(parse_yaml("schema: shardsim.clusters_map/1\n" + text, "map.yaml"), "map.yaml");
}

std::string map_fault(const std::string& text) {
  return error_of([&] { map_of(text); });
}

MeasuredRow row_of(const std::string& system, int nodes = 2) {
  MeasuredRow row;
  row.place = {"m.csv", 3};
  row.system = system;
  row.nodes = nodes;
  return row;
}

}  // namespace

TEST_CASE("a label names a cluster, and may edit it") {
  const SystemMap map = map_of(
      "systems:\n  \"my-box, 4 NICs\": {cluster: dgx_a100_80gb, nodes: 2, gpus_per_node: 8,\n"
      "    set: {nics.rate: \"100 Gbit/s\"}}\n  short: toy_2x4\n");
  REQUIRE(map.systems.size() == 2);
  const MappedSystem& system = map.system_of(row_of("my-box, 4 NICs"));
  CHECK(system.cluster == "dgx_a100_80gb");
  CHECK(system.nodes == 2);
  CHECK(system.gpus_per_node == 8);
  CHECK(system.spec.nics->rate.bytes_per_second == doctest::Approx(12.5e9));
  CHECK(map.system_of(row_of("short")).cluster == "toy_2x4");
}

TEST_CASE("labels may stand at the top") {
  CHECK(map_of("my box: {cluster: toy_2x4}\n").system_of(row_of("my box")).cluster == "toy_2x4");
  CHECK(map_of("my box: toy_2x4\n").system_of(row_of("my box")).cluster == "toy_2x4");
  const SystemMap both = map_of("mine: toy_2x4\nsystems: {other: dgx_a100_80gb}\n");
  CHECK(both.system_of(row_of("mine")).cluster == "toy_2x4");
  CHECK(both.system_of(row_of("other")).cluster == "dgx_a100_80gb");
  CHECK(has(map_fault("mine: toy_2x5\n"), "map.yaml:2"));
}

TEST_CASE("rows leave the model by what is known before predicting") {
  const SystemMap map = map_of(
      "systems: {a: toy_2x4, b: toy_2x4}\n"
      "out_of_model:\n"
      "  - {system: a, case: tcp, reason: TCP}\n"
      "  - {system: a, nodes: [256, 540], reason: fabric}\n"
      "  - {notes: patched, reason: patched}\n");
  MeasuredRow row = row_of("a");
  CHECK(map.why_out_of_model(row) == "");
  row.setting = "tcp";
  CHECK(map.why_out_of_model(row) == "TCP");
  row.system = "b";
  CHECK(map.why_out_of_model(row) == "");
  row.notes = "a patched library";
  CHECK(map.why_out_of_model(row) == "patched");
  CHECK(map.why_out_of_model(row_of("a", 540)) == "fabric");
}

TEST_CASE("a label that the map lacks is an error at its row") {
  const SystemMap map = map_of("systems: {Selene 2: toy_2x4}\n");
  const std::string fault = error_of([&] { map.system_of(row_of("Selene2")); });
  CHECK(has(fault, "m.csv:3: system \"Selene2\" is missing from the map map.yaml. Did you mean \"Selene 2\"?"));
}

TEST_CASE("a bad entry costs its own system alone") {
  const SystemMap map = map_of("systems: {a: toy_2x4, b: {cluster: no_such}}\n");
  CHECK(map.system_of(row_of("a")).cluster == "toy_2x4");
  CHECK(has(error_of([&] { map.system_of(row_of("b")); }), "map.yaml:2"));
}

TEST_CASE("a map that cannot be is refused with its place") {
  CHECK(has(map_fault("systems: {a: {cluster: no_such}}\n"), "map.yaml:2"));
  CHECK(has(map_fault("systems: {a: {cluster: toy_2x4, set: {gpu.coont: 3}}}\n"), "coont"));
  CHECK(has(map_fault("systems: {a: {cluster: toy_2x4, set: [1]}}\n"), "'set' must be a map, but is a list"));
  CHECK(has(map_fault("systems: {a: {clustre: toy_2x4}}\n"), "clustre"));
  CHECK(has(map_fault("systems: [a]\n"), "'systems' must be a map, but is a list"));
  CHECK(has(map_fault("system: {a: toy_2x4}\n"), "systems"));
  CHECK(has(map_fault("systems: {a: toy_2x4}\nout_of_model: [{reason: bad}]\n"), "would cover every row"));
  CHECK(has(map_fault("systems: {a: toy_2x4}\nout_of_model: [{system: a}]\n"), "reason"));
  CHECK(has(map_fault("systems: {a: toy_2x4}\nout_of_model: [{system: c, reason: bad}]\n"), "unknown system \"c\""));
  CHECK(has(map_fault("systems: {a: toy_2x4}\nout_of_model: [{nodes: 0, reason: bad}]\n"), "0 nodes"));
}

TEST_CASE("the shipped map knows every system of the shipped measurements, and no other") {
  const SystemMap map = read_system_map(kShipped);
  std::set<std::string> labels;
  for (const MeasuredRow& row : read_measurements(SHARDSIM_SOURCE_DIR "/scenarios/measurements/open", {}).rows) {
    CHECK_NOTHROW(map.system_of(row));
    labels.insert(row.system);
  }
  std::set<std::string> mapped;
  for (const MappedSystem& system : map.systems) mapped.insert(system.label);
  CHECK(labels.size() == mapped.size());
}

TEST_CASE("rows of one case may be of a cluster that differs") {
  const SystemMap map =
      map_of("box: {cluster: dgx_a100_80gb, set: {nics.gpudirect: false}, cases: {slow: {nics.transport: tcp}}}\n");
  MeasuredRow row = row_of("box");
  CHECK(map.system_of(row).spec.nics->transport == "infiniband");
  row.setting = "slow";
  CHECK(map.system_of(row).spec.nics->transport == "tcp");
  CHECK_FALSE(map.system_of(row).spec.nics->gpudirect);
  CHECK(has(map_fault("box: {cluster: toy_2x4, cases: [slow]}\n"), "'cases' must be a map, but is a list"));
}

}  // namespace shardsim::system_map_test
