#include "topology/spec/unusual_values.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "study/notes/notes.h"
#include "tests/study/scenario_text.h"

namespace shardsim::unusual_values_test {
namespace {

Scenario on(const std::string& cluster) {
  return test::read("schema: shardsim.scenario/1\ncluster: {" + cluster +
                    "}\nworkload: toy_history\nplanner: {name: row_wise}\n");
}

std::vector<std::string> told(const std::string& cluster) {
  return unusual_values(on(cluster).cases.front().cluster);
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("rates and sizes that nobody sells are asked after, in the usual unit") {
  const std::string h100 = "base: hgx_h100_8x400g, nodes: 2";
  CHECK(told(h100).empty());
  CHECK(told(h100 + ", nics: {rate: 1.6 Tbit/s}").empty());  // the next generation
  CHECK(
      told(h100 + ", nics: {rate: 400 GB/s}") ==
      Texts{"The cluster's nics.rate is 3200 Gbit/s, and the most sold is 800 Gbit/s (ConnectX-8 SuperNIC, data sheet "
            "of NVIDIA). Was that meant?"});
  CHECK(told(h100 + ", nics: {rate: 400 Mbit/s}") ==
        Texts{"The cluster's nics.rate is 0.4 Gbit/s, and the least sold is 10 Gbit/s (10 Gbit/s Ethernet). Was that "
              "meant?"});
  CHECK(told(h100 + ", gpu: {hbm_bandwidth: 3350 TB/s}").size() == 1);
  CHECK(told(h100 + ", gpu: {hbm: 1 GiB}").size() == 1);
  // Only what is too large is told of a cluster that is small on purpose.
  CHECK(told("base: toy_2x4, nics: {rate: 1 Mbit/s}").empty());
  CHECK(told("base: toy_2x4, nics: {rate: 1 TB/s}").size() == 1);
}

TEST_CASE("no shipped cluster is asked after, and who asks for a plan or why is told") {
  std::size_t clusters = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data_folder() / "scenarios" / "clusters")) {
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    CHECK(told("base: " + name).empty());
    ++clusters;
  }
  CHECK(clusters > 30);
  const Scenario scenario = on("base: hgx_h100_8x400g, nodes: 2, nics: {rate: 400 GB/s}");
  for (const Asker asker : {Asker::plan, Asker::sweep, Asker::drift, Asker::why}) {
    const Notes notes = notes_for(asker, {scenario.cases.front()});
    CHECK(std::ranges::any_of(notes, [](const std::string& note) { return note.ends_with("Was that meant?"); }));
  }
}

}  // namespace shardsim::unusual_values_test
