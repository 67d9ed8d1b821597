#include "study/confidence/evidence.h"

#include <doctest/doctest.h>

namespace shardsim::evidence_test {

namespace {

SourcedValue constant(const std::string& path, const std::string& value, const std::vector<std::string>& systems) {
  return {path, value, "open measurements, docs/accuracy.md", true, systems, 0, {}};
}

const std::string kNics = "overheads.all_to_all.across_nodes.nic_efficiency";

ComparedCluster cluster(const std::string& name, const std::vector<SourcedValue>& fitted) {
  return {name, true, fitted};
}

}  // namespace

TEST_CASE("clusters whose constants come from different measurements are said to be compared by unlike evidence") {
  const auto a100 = cluster("a", {constant(kNics, "0.848", {"Sophia", "two servers"})});
  const auto h100 = cluster("h", {constant(kNics, "0.967", {"cluster01"})});
  const std::vector<std::string> said = unlike_evidence({a100, h100, a100});
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("how long exchanges take on 'a' and on 'h' comes from measurements") != std::string::npos);
  CHECK(said[0].find(
            "(the share of a NIC's rate that all-to-all across nodes reaches: 0.848 from Sophia, two servers, and "
            "0.967 from cluster01)") != std::string::npos);
  CHECK(said[0].find("overheads.") == std::string::npos);
}

TEST_CASE("in short, unlike evidence is said with the names of the clusters alone") {
  const auto a100 = cluster("a", {constant(kNics, "0.848", {"Sophia"})});
  const auto h100 = cluster("h", {constant(kNics, "0.967", {"cluster01"})});
  const auto b200 = cluster("b", {constant(kNics, "0.967", {"cluster01"})});
  CHECK(unlike_evidence_in_short({a100, h100, b200}) ==
        "Not measured alike: how long exchanges take on a, h comes from measurements of different machines, and which "
        "is faster may come of that.");
  CHECK(unlike_evidence_in_short({b200, h100}).empty());
}

TEST_CASE("a constant that was fitted for one of two clusters is unlike evidence too") {
  const std::vector<std::string> said =
      unlike_evidence({cluster("a", {}), cluster("h", {constant(kNics, "0.967", {"cluster01"})})});
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("the usual value, and 0.967 from cluster01") != std::string::npos);
}

TEST_CASE("constants of a calibration are named by their file, and cannot be switched off") {
  SourcedValue own = constant(kNics, "0.9", {"1 KiB", "4 KiB", "16 KiB", "64 KiB", "1 MiB"});
  own.source = "mine.csv, system mine";
  const std::vector<std::string> said =
      unlike_evidence({cluster("a", {own}), cluster("h", {constant(kNics, "0.967", {"cluster01"})})});
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("0.9 from mine.csv, system mine, and 0.967 from cluster01") != std::string::npos);
  CHECK(said[0].find("fits=none") == std::string::npos);
}

TEST_CASE("like evidence is not worth a word") {
  const auto b200 = cluster("b", {constant(kNics, "0.967", {"cluster01"})});
  const auto h100 = cluster("h", {constant(kNics, "0.967", {"cluster01"})});
  CHECK(unlike_evidence({b200, h100}).empty());
  CHECK(unlike_evidence({b200}).empty());
  // Evidence about calls across nodes does not count for one node, nor does evidence about kernels.
  CHECK(unlike_evidence({{"a", false, {}}, {"b", false, {constant(kNics, "0.9", {"x"})}}}).empty());
  CHECK(unlike_evidence({cluster("a", {}), cluster("b", {constant("gpu.copy_bandwidth", "1 GB/s", {"x"})})}).empty());
}

}  // namespace shardsim::evidence_test
