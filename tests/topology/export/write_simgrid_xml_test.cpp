#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "tests/topology/cluster_files.h"
#include "topology/export/export.h"
#include "topology/import/nccl_elements.h"

namespace shardsim::write_simgrid_xml_test {

using namespace shardsim::testing;

namespace {

struct Platform {
  std::map<std::string, XmlElement> links;
  std::map<std::pair<std::string, std::string>, XmlElement> routes;
  std::set<std::string> hosts;
};

Platform read(const std::string& text) {
  const XmlElement root = parse_xml(text, "platform.xml");
  REQUIRE(root.name == "platform");
  REQUIRE(*root.attribute("version") == "4.1");
  REQUIRE(root.children.size() == 1);
  Platform platform;
  for (const XmlElement& element : root.children[0].children) {
    if (element.name == "host") platform.hosts.insert(*element.attribute("id"));
    if (element.name == "link") platform.links.emplace(*element.attribute("id"), element);
    if (element.name == "route") {
      platform.routes.emplace(std::pair{*element.attribute("src"), *element.attribute("dst")}, element);
    }
  }
  return platform;
}

double number(const XmlElement& element, const char* key) {
  const std::string& text = *element.attribute(key);
  double value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

TEST_CASE("a platform has every rank and, both ways, every route with the cluster's width and latency") {
  for (const char* name : {"toy_2x4", "dgx1_v100", "pcie_rtx6000d", "aws_p3dn"}) {
    CAPTURE(name);
    ClusterSpec spec = shipped(name);
    spec.nodes = 2;
    const Cluster cluster(spec);
    const std::string text = write_simgrid_xml(cluster);
    CHECK(text.find("<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">") != std::string::npos);
    const Platform platform = read(text);
    CHECK(static_cast<int>(platform.hosts.size()) == cluster.world_size());
    CHECK(static_cast<int>(platform.routes.size()) == cluster.world_size() * (cluster.world_size() - 1));
    for (int from = 0; from < cluster.world_size(); ++from) {
      for (int to = 0; to < cluster.world_size(); ++to) {
        if (from == to) continue;
        const auto& route = platform.routes.at({"rank" + std::to_string(from), "rank" + std::to_string(to)});
        double width = 1e300, latency = 0;
        for (const XmlElement& step : route.children) {
          const XmlElement& link = platform.links.at(*step.attribute("id"));
          width = std::min(width, number(link, "bandwidth"));
          latency += number(link, "latency");
          // SimGrid throws when one of these two is missing its direction, or the other has one.
          CHECK((*link.attribute("sharing_policy") == "SPLITDUPLEX") == (step.attribute("direction") != nullptr));
        }
        const Route expected = cluster.route(from, to);
        CHECK(width == expected.width.bytes_per_second);
        CHECK(latency == doctest::Approx(expected.latency.value));
      }
    }
  }
}

TEST_CASE("the two directions of a port are one link, and opposite routes take opposite directions") {
  const Platform platform = read(write_simgrid_xml(Cluster(shipped("toy_2x4"))));
  const auto& there = platform.routes.at({"rank0", "rank1"});
  const auto& back = platform.routes.at({"rank1", "rank0"});
  CHECK(*there.children[0].attribute("id") == "node0/gpu0/nvlink");
  CHECK(*there.children[0].attribute("direction") == "UP");
  CHECK(*back.children[1].attribute("id") == "node0/gpu0/nvlink");
  CHECK(*back.children[1].attribute("direction") == "DOWN");
  const Platform mesh = read(write_simgrid_xml(Cluster(shipped("dgx1_v100"))));
  CHECK(*mesh.routes.at({"rank3", "rank0"}).children[0].attribute("id") == "node0/nvlink/0-3");
  CHECK(*mesh.routes.at({"rank3", "rank0"}).children[0].attribute("direction") == "DOWN");
}

TEST_CASE("a platform whose routes would fill the disk is refused") {
  ClusterSpec spec = shipped("toy_2x4");
  spec.nodes = 257;
  CHECK(error_of([&] { write_simgrid_xml(Cluster(spec)); }).find("1028 ranks, over 1024") != std::string::npos);
}

}  // namespace shardsim::write_simgrid_xml_test
