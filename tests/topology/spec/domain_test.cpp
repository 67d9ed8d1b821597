#include "topology/spec/domain.h"

#include <doctest/doctest.h>

#include "base/tree/tree_editor.h"
#include "base/tree/yaml.h"
#include "tests/topology/cluster_files.h"

namespace shardsim::domain_test {

using namespace shardsim::testing;

namespace {

// Hosts of four GPUs on switches of `domain`.
std::string rack(int hosts, int domain, const std::string& more = "") {
  return least_cluster(4, "10.0") + "nodes: " + std::to_string(hosts) +
         "\nnvlink: {kind: switch, links_per_gpu: 18, domain: " + std::to_string(domain) +
         "}\nnics: {per_gpu: 1, rate: 400 Gbit/s}\nhost: {memory: 1 TiB}\n" +
         "pcie: {cpu: {vendor: arm, sockets: 2}}\n" + more;
}

std::string error_with(const std::string& text) {
  return error_of([&] { spec_of(text); });
}

bool says(const std::string& message, const std::string& what) {
  const bool found = message.starts_with("test.yaml:") && message.find(what) != std::string::npos;
  if (!found) MESSAGE("message: ", message);
  return found;
}

}  // namespace

TEST_CASE("a domain over hosts is a node whose GPUs meet on the switch; beyond it is the network") {
  const Cluster cluster(spec_of(rack(6, 12)));
  CHECK(cluster.nodes() == 2);
  CHECK(cluster.ranks_per_node() == 12);
  CHECK(cluster.spec().gpus_per_host == 4);
  CHECK(hosts_per_node(cluster.spec()) == 3);
  CHECK(cluster.nics_per_node() == 12);
  const Route far_in_domain = cluster.route(0, 11);
  CHECK(far_in_domain.path == PathClass::nvl);
  CHECK(far_in_domain.width == cluster.route(0, 1).width);
  CHECK(cluster.route(11, 12).path == PathClass::net);
  CHECK(cluster.spec().host.memory == Bytes{3LL << 40});
  CHECK(cluster.spec().pcie.sockets == 6);
}

TEST_CASE("a domain that is one host is none") {
  CHECK(spec_of(rack(2, 4)) == spec_of(rack(2, 4)));
  CHECK(spec_of(rack(2, 4)).gpus_per_host == 0);
  CHECK(spec_of(rack(2, 4)).nvlink.domain == 0);
  CHECK(Cluster(spec_of(rack(2, 4))).nodes() == 2);
}

TEST_CASE("leaves count hosts in the file and domains inside") {
  const std::string leaf = "fabric: {kind: fat_tree, oversubscription: 2, nodes_per_leaf: ";
  const Cluster cluster(spec_of(rack(8, 8, leaf + "4}\n")));
  CHECK(cluster.nodes() == 4);
  CHECK(cluster.leaf_of(1) == 0);
  CHECK(cluster.leaf_of(2) == 1);
  CHECK(says(error_with(rack(8, 8, leaf + "3}\n")), "a leaf of 3 hosts cuts through domains of 2"));
}

TEST_CASE("faults name a host and what is in it") {
  const Cluster cluster(
      spec_of(rack(4, 8, "faults: [{node: 3, gpu: 1, compute_factor: 0.5}, {node: 1, nic: 2, rate_factor: 0.5}]\n")));
  CHECK(cluster.compute_factor(13) == 0.5);  // the second domain begins with rank 8, its second host with 12
  CHECK(cluster.compute_factor(5) == 1);
  CHECK(cluster.links()[cluster.nic_out(0, 6)].rate == 0.5 * cluster.links()[cluster.nic_out(0, 5)].rate);
  CHECK(says(error_with(rack(4, 8, "faults: [{node: 4, gpu: 1, compute_factor: 0.5}]\n")), "a fault on node 4"));
}

TEST_CASE("domains are written as hosts and read back equal") {
  for (const std::string& more :
       {std::string(),
        std::string("faults: [{node: 3, gpu: 1, rate_factor: 0.5}, {node: 2, nic: 1, rate_factor: 0.5}]\n"),
        std::string("fabric: {kind: fat_tree, oversubscription: 2, nodes_per_leaf: 4}\n")}) {
    const ClusterSpec spec = spec_of(rack(4, 8, more));
    const std::string written = write_cluster(spec);
    CHECK(written.find("nodes: 4") != std::string::npos);
    CHECK(written.find("domain: 8") != std::string::npos);
    CHECK(spec_of(written) == spec);
  }
}

TEST_CASE("nodes that do not fill the domains of a base are at fault, and not the base") {
  const auto error_of_nodes = [](const std::string& nodes) {
    Tree tree = parse_yaml(rack(18, 72), "base.yaml");
    set_path(tree, "nodes", parse_yaml_value(nodes, {"argument --set nodes"}));
    return error_of([&] { read_cluster(tree); });
  };
  const std::string part = error_of_nodes("8"), parts = error_of_nodes("20");
  CAPTURE(part);
  CHECK(part.starts_with(
      "argument --set nodes: 8 nodes of 4 GPUs do not fill NVLink domains of 72 GPUs, which base.yaml:"));
  CHECK(part.find("Write a multiple of 18 nodes, or nvlink.domain: 32 beside `nodes`, for a part of one.") !=
        std::string::npos);
  CHECK(parts.ends_with("Write a multiple of 18 nodes."));
  CHECK(error_of_nodes("36").empty());
}

TEST_CASE("domains that the cluster cannot have are refused") {
  CHECK(says(error_with(rack(2, 72)), "a domain of 72 GPUs is larger than the cluster, which has 8"));
  CHECK(says(error_with(rack(2, 72)), "Write domain: 8"));
  CHECK(says(error_with(rack(3, 6)), "hosts of 4 GPUs do not divide into domains of 6"));
  CHECK(says(error_with(rack(3, 8)), "12 GPUs do not divide into domains of 8"));
  CHECK(says(error_with(rack(100, 400)), "nvlink.domain: \"400\" is above 144"));
  CHECK(says(error_with(rack(4, 8, "graph: {one_node: {channels: 2, bw_intra: 20 GB/s}}\n")), "cannot be stated"));
  CHECK(says(error_with(least_cluster(4) + "nodes: 2\nnvlink: {kind: none, domain: 8}\n"),
             "only GPUs that are connected by an NVSwitch"));
}

}  // namespace shardsim::domain_test
