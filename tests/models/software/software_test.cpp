#include "models/software/software.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/files.h"
#include "base/tree/yaml.h"

namespace shardsim::software_test {
namespace {

Software asked(const std::string& map) {
  return software_from_tree(parse_yaml(map, "case.yaml"), shipped_software());
}

void refused(const std::string& map, const char* fragment) {
  CAPTURE(map);
  CHECK_THROWS_WITH_AS(asked(map), doctest::Contains(fragment), Error);
}

}  // namespace

TEST_CASE("software: every number of every preset says where it comes from") {
  const SoftwareTable table = shipped_software();
  CHECK(table.names() == std::vector<std::string>{"torchrec_eager", "torchrec_compiled", "tensorflow", "hugectr_graph",
                                                  "hugectr_ebc", "pytorch_eager", "pytorch_graph", "ideal"});
  for (const Software& preset : table.presets) {
    CAPTURE(preset.name);
    constexpr std::size_t kOfAll = 28, kOfPyTorch = 25;  // every member of a preset; those of a dense part by operator
    CHECK(preset.sources.size() == kOfAll + (preset.pytorch ? kOfPyTorch : 0));
    for (const SourcedValue& value : preset.sources) {
      CAPTURE(value.path);
      CHECK(!value.source.empty());
      CHECK((!value.fitted || !value.fitted_on.empty()));
    }
  }
}

// Section 4.4 of the table of presets: 1.5 ms for a sharded module and strategy, 0.6 when compiled.
TEST_CASE("software: the parts of a sharded module add up") {
  const auto module = [](const Software& s) {
    return (s.module_dist + s.module_call + s.module_output + s.module_backward).ms();
  };
  CHECK(module(asked("{name: torchrec_eager}")) == doctest::Approx(1.5));
  CHECK(module(asked("{name: torchrec_compiled}")) == doctest::Approx(0.6));
  CHECK(module(asked("{name: hugectr_ebc}")) == 0);
}

TEST_CASE("software: what a case states goes before the preset, and loses its source") {
  const Software software = asked("{name: hugectr_ebc, launch: 3 us, in_situ: 0.9}");
  CHECK(software.launch.us() == doctest::Approx(3));
  CHECK(software.in_situ == 0.9);
  CHECK(software.graph == Software::Graph::dense);
  CHECK(std::ranges::count(software.sources, "in_situ", &SourcedValue::path) == 0);
  CHECK(std::ranges::count(software.sources, "graph_launch", &SourcedValue::path) == 1);
}

TEST_CASE("software: the optimizer's time goes by the workload's optimizer") {
  const Software software = asked("{name: torchrec_eager}");
  CHECK(software.optimizer_tensor("sgd").us() == doctest::Approx(10));
  CHECK(software.optimizer_tensor("rowwise_adagrad") == software.optimizer_adagrad);
  CHECK(software.optimizer_adagrad > software.optimizer_sgd);
  CHECK(software.optimizer_tensor("lamb").us() == doctest::Approx(15));
}

TEST_CASE("software: the preset with a CUDA graph is one of the file") {
  const std::string path = SHARDSIM_SOURCE_DIR "/scenarios/software/presets.yaml";
  const std::string text = read_file(path), graph = "with_graph: torchrec_compiled";
  CHECK(asked("{name: torchrec_eager, fixed: 5 ms}").with_graph == "torchrec_compiled");
  CHECK(asked("{name: torchrec_compiled}").with_graph.empty());
  REQUIRE(text.find(graph) != std::string::npos);
  const std::string wrong = std::string(text).replace(text.find(graph), graph.size(), "with_graph: torchrec_graph");
  CHECK_THROWS_WITH_AS(software_table_from_tree(parse_yaml(wrong, "wrong.yaml")),
                       doctest::Contains("'with_graph' of software \"torchrec_eager\" names \"torchrec_graph\""),
                       Error);
}

TEST_CASE("software: what is refused") {
  refused("{name: torchrec_egaer}", "torchrec_eager");
  refused("{name: pytorch}", "hugectr_ebc");
  refused("{name: ideal, lunch: 5 us}", "lunch");
  refused("{name: ideal, launch: 5}", "unit");
  refused("{name: ideal, graph: whole}", "iteration");
  refused("{name: ideal, stream_sharing: -1}", "stream_sharing");
  refused("{name: ideal, in_situ: 1.2}", "in_situ");
  refused("{name: ideal, update_factor: 0.9}", "update_factor");
  refused("{name: ideal, update_factor: 11}", "update_factor");
  refused("{launch: 5 us}", "name");
}

}  // namespace shardsim::software_test
