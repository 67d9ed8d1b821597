#include "accuracy/emulated/emulated_shape.h"

#include <doctest/doctest.h>

#include <cmath>

#include "accuracy/emulated/campaign.h"
#include "base/error.h"

namespace shardsim::emulated_shape_test {

namespace {

bool has(const std::string& lines, const std::string& line) {
  return ("\n" + lines).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

// 240e6/8 x 8948/9014 and 20e6/8 x 1448/1514.
TEST_CASE("payload rates are those of the shipped cluster file") {
  const EmulatedShape shape;
  CHECK(std::abs(payload_rate(shape.fast, kFastMtu).bytes_per_second - 29780342) < 1);
  CHECK(std::abs(payload_rate(shape.nic, kNicMtu).bytes_per_second - 2391017) < 1);
  const ClusterSpec spec = emulated_cluster_spec(shape.ranks);
  CHECK(std::abs(spec.nvlink.per_link_effective.bytes_per_second - 29780342) < 1);
  CHECK(std::abs(spec.nics->rate.bytes_per_second - 2391017) < 1);
}

// The construction by hand, for rank 5 of 2 x 4: node 1, the fourth byte of its addresses is 6.
TEST_CASE("links of a rank: fixed addresses, permanent neighbours, its node through the fast port") {
  const std::string lines = make_rank_links({}, 5);
  for (const std::string line :
       {"link add nv0 address 02:00:00:00:01:05 mtu 9000 type veth peer name nv5 netns emu-sw",
        "link add nic0 address 02:00:00:00:02:05 mtu 1500 type veth peer name nic5 netns emu-sw",
        "link set nv0 gso_max_segs 1", "link set nic0 gso_max_segs 1", "addr add 10.1.1.6/24 dev nv0",
        "addr add 10.2.0.6/24 dev nic0", "neigh add 10.2.0.1 lladdr 02:00:00:00:02:00 dev nic0 nud permanent",
        "neigh add 10.1.1.5 lladdr 02:00:00:00:01:04 dev nv0 nud permanent",
        "route add 10.2.0.5/32 via 10.1.1.5 dev nv0 src 10.2.0.6"}) {
    CAPTURE(line);
    CHECK(has(lines, line));
  }
  CHECK(lines.find("route add 10.2.0.4/32") == std::string::npos);  // of the other node
  CHECK(lines.find("neigh add 10.2.0.6") == std::string::npos);     // itself
  CHECK(has(make_rank_links({}, 7), "neigh add 10.2.0.7 lladdr 02:00:00:00:02:06 dev nic0 nud permanent"));
}

TEST_CASE("shapers stand at both ends, with a burst of one frame and a late timer") {
  const EmulatedShape shape;
  CHECK(has(make_rank_shapers(shape), "qdisc add dev nv0 root tbf rate 240000000bit burst 10500 limit 32m"));
  CHECK(has(make_rank_shapers(shape), "qdisc add dev nic0 root tbf rate 20000000bit burst 1600 limit 32m"));
  CHECK(has(make_switch_shapers(shape), "qdisc add dev nv7 root tbf rate 240000000bit burst 10500 limit 32m"));
  CHECK(has(make_switch_shapers(shape), "qdisc add dev nic0 root tbf rate 20000000bit burst 1600 limit 32m"));
  CHECK(change_nic_shaper("nic2", {10e6 / 8}) ==
        "qdisc change dev nic2 root tbf rate 10000000bit burst 1600 limit 32m\n");
}

TEST_CASE("the switch has a fast bridge per node and one for the NICs") {
  const EmulatedShape shape{{3, 2}, {30e6}, {2.5e6}};
  const std::string bridges = make_bridges(shape);
  CHECK(has(bridges, "link add br-nv2 type bridge stp_state 0 forward_delay 0 mcast_snooping 0"));
  CHECK(has(bridges, "link set br-nic mtu 1500"));
  CHECK(bridges.find("br-nv3") == std::string::npos);
  CHECK(has(make_switch_links(shape), "link set nv3 mtu 9000 master br-nv1 up"));
  CHECK(has(make_switch_links(shape), "link set nic3 mtu 1500 master br-nic up"));
  CHECK(has(make_name_spaces(shape), "netns add emu-r5"));
}

// As `tc -j qdisc show` of iproute2 6.1 prints it; rates are bytes per second.
TEST_CASE("a shaper that is not as asked for is noticed") {
  const std::string good =
      R"([{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"options":{}},)"
      R"({"kind":"tbf","handle":"8025:","dev":"nic0","root":true,"options":{"rate":2500000,"burst":1600,"lat":13412352}}])";
  const Bandwidth nic{2.5e6};
  CHECK(wrong_shaper(good, "nic0", nic, 1500, 1600).empty());
  CHECK(wrong_shaper(good, "nv0", nic, 1500, 1600) == "nv0 has no shaper");
  CHECK(wrong_shaper(good, "lo", nic, 1500, 1600) == "lo has no token bucket");
  CHECK(wrong_shaper(good, "nic0", {1.25e6}, 1500, 1600) == "nic0 lets 2.5 MB/s through, not 1.25 MB/s");
  CHECK(wrong_shaper(good, "nic0", nic, 9000, 9100) == "nic0 has a burst of 1600 B");
  CHECK(wrong_shaper(good, "nic0", nic, 1500, 1590) == "nic0 has a burst of 1600 B");
  CHECK_FALSE(wrong_shaper("", "nic0", nic, 1500, 1600).empty());
}

// tc 6.1 keeps a burst as a time in whole microseconds, so that at 1 Gbit/s one of 1,600 B would be of 1,500.
TEST_CASE("a fast NIC has a burst that holds a frame after tc has rounded it") {
  for (const double mbit : {600.0, 750.0, 1000.0, 2500.0, 10000.0}) {
    const Bandwidth nic{mbit * 1e6 / 8};
    const std::string line = change_nic_shaper("nic0", nic);
    const std::size_t at = line.find("burst ");
    REQUIRE(at != std::string::npos);
    const double per_us = nic.bytes_per_second * 1e-6, asked = std::stod(line.substr(at + 6));
    CHECK(std::floor(asked / per_us) * per_us >= 1514);
    CHECK(asked < 1600 + per_us);
  }
  CHECK(change_nic_shaper("nic0", {2.5e6}).find("burst 1600") != std::string::npos);
}

TEST_CASE("a rank of the node behind the NIC is noticed") {
  const EmulatedShape shape{{2, 2}, {30e6}, {2.5e6}};
  const std::string good = R"([{"dst":"10.1.0.0/24","dev":"nv0"},{"dst":"10.2.0.0/24","dev":"nic0"},)"
                           R"({"dst":"10.2.0.2","gateway":"10.1.0.2","dev":"nv0"}])";
  CHECK(wrong_fast_routes(good, shape, 0).empty());
  CHECK_FALSE(wrong_fast_routes(good, shape, 1).empty());
  CHECK_FALSE(wrong_fast_routes(R"([{"dst":"10.2.0.2","dev":"nic0"}])", shape, 0).empty());
  CHECK_FALSE(wrong_fast_routes("", shape, 0).empty());
}

TEST_CASE("shapes that cannot be built are refused") {
  const EmulatedShape good;
  CHECK_NOTHROW(check_shape(good));
  CHECK_NOTHROW(check_shape({{64, 1}, good.fast, good.nic}));
  for (const NodeShape ranks :
       {NodeShape{0, 4}, NodeShape{2, 0}, NodeShape{-1, -4}, NodeShape{9, 8}, NodeShape{65, 1}}) {
    CHECK_THROWS_AS(check_shape({ranks, good.fast, good.nic}), Error);
  }
  CHECK_THROWS_AS(check_shape({{2, 4}, {1e4}, good.nic}), Error);
  CHECK_THROWS_AS(check_shape({{2, 4}, good.fast, {2e9}}), Error);
}

}  // namespace shardsim::emulated_shape_test
