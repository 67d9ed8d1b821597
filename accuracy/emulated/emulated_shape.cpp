#include "accuracy/emulated/emulated_shape.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "accuracy/emulated/rank_processes.h"
#include "base/error.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr int kFastTier = 1, kNicTier = 2;
constexpr int kFrame = 14;  // bytes of Ethernet around what the MTU counts

std::string mac(int tier, int rank) {
  return fmt::format("02:00:00:00:{:02x}:{:02x}", tier, rank);
}

int node_of(const EmulatedShape& shape, int rank) {
  return rank / shape.ranks.ranks_per_node;
}

std::string fast_address(const EmulatedShape& shape, int rank) {
  return fmt::format("10.1.{}.{}", node_of(shape, rank), rank + 1);
}

// limit 32m: nothing is dropped, queues push back through TCP windows.
std::string shaper(const std::string& verb, const std::string& device, Bandwidth rate, int burst) {
  return fmt::format("qdisc {} dev {} root tbf rate {:.0f}bit burst {} limit 32m\n", verb, device,
                     8 * rate.bytes_per_second, burst);
}

// tc counts the time of a burst in whole microseconds, rounded down: at 1 Gbit/s, 1,600 B become 1,500, less than a
// frame.
int nic_burst(Bandwidth rate) {
  constexpr int kLeast = kNicMtu + kFrame;
  const double per_us = rate.bytes_per_second * 1e-6;
  if (std::floor(kNicBurst / per_us) * per_us >= kLeast) return kNicBurst;
  return static_cast<int>(std::ceil(std::ceil(kLeast / per_us) * per_us));
}

std::string bridge(const std::string& name, int mtu) {
  return fmt::format(
      "link add {0} type bridge stp_state 0 forward_delay 0 mcast_snooping 0\nlink set {0} mtu {1}\nlink set {0} up\n",
      name, mtu);
}

// Permanent neighbours: no ARP between the timed bytes. A /32 route through the fast port to every rank of the node.
std::string neighbours(const EmulatedShape& shape, int rank) {
  std::string lines;
  for (int peer = 0; peer < shape.ranks.world_size(); ++peer) {
    if (peer == rank) continue;
    lines += fmt::format("neigh add {} lladdr {} dev nic0 nud permanent\n", rank_address(peer), mac(kNicTier, peer));
    if (node_of(shape, peer) != node_of(shape, rank)) continue;
    const std::string fast = fast_address(shape, peer);
    lines += fmt::format("neigh add {} lladdr {} dev nv0 nud permanent\n", fast, mac(kFastTier, peer));
    lines += fmt::format("route add {}/32 via {} dev nv0 src {}\n", rank_address(peer), fast, rank_address(rank));
  }
  return lines;
}

void check_rate(Bandwidth rate, const std::string& argument) {
  constexpr double kLeast = 1e6 / 8, kMost = 10e9 / 8;
  if (rate.bytes_per_second >= kLeast && rate.bytes_per_second <= kMost) return;
  throw input_error({argument}, fmt::format("{} is outside the rates that the emulated links can have", to_text(rate)),
                    "Give 1 Mbit/s to 10 Gbit/s");
}

}  // namespace

EmulatedShape at_share(EmulatedShape shape, double share) {
  shape.fast = share * shape.fast;
  shape.nic = share * shape.nic;
  return shape;
}

Bandwidth payload_rate(Bandwidth shaped, int mtu) {
  constexpr int kHeaders = 52;
  return {shaped.bytes_per_second * (mtu - kHeaders) / (mtu + kFrame)};
}

void check_shape(const EmulatedShape& shape) {
  const auto counted = [](int count, const std::string& argument) {
    if (count < 1 || count > kMostEmulatedRanks)
      throw input_error({argument}, fmt::format("{} is not from 1 to {}", count, kMostEmulatedRanks),
                        fmt::format("Give 1 to {}", kMostEmulatedRanks));
  };
  counted(shape.ranks.nodes, "argument --nodes");
  counted(shape.ranks.ranks_per_node, "argument --gpus-per-node");
  if (shape.ranks.world_size() > kMostEmulatedRanks)
    throw input_error({"argument --nodes"}, fmt::format("{} ranks are too many", shape.ranks.world_size()),
                      fmt::format("Give {} or fewer in all", kMostEmulatedRanks));
  check_rate(shape.fast, "argument --fast");
  check_rate(shape.nic, "argument --nic");
}

std::string rank_name_space(int rank) {
  return fmt::format("emu-r{}", rank);
}

std::string rank_address(int rank) {
  return fmt::format("10.2.0.{}", rank + 1);
}

std::string make_name_spaces(const EmulatedShape& shape) {
  std::string lines = fmt::format("netns add {}\n", kSwitchNameSpace);
  for (int rank = 0; rank < shape.ranks.world_size(); ++rank) {
    lines += fmt::format("netns add {}\n", rank_name_space(rank));
  }
  return lines;
}

std::string make_bridges(const EmulatedShape& shape) {
  std::string lines = bridge("br-nic", kNicMtu);
  for (int node = 0; node < shape.ranks.nodes; ++node) lines += bridge(fmt::format("br-nv{}", node), kFastMtu);
  return lines;
}

std::string make_rank_links(const EmulatedShape& shape, int rank) {
  const auto link = [rank](const std::string& name, int tier, int mtu, const std::string& peer) {
    return fmt::format("link add {} address {} mtu {} type veth peer name {} netns {}\n", name, mac(tier, rank), mtu,
                       peer, kSwitchNameSpace);
  };
  return "link set lo up\n" + link("nv0", kFastTier, kFastMtu, fmt::format("nv{}", rank)) +
         link("nic0", kNicTier, kNicMtu, fmt::format("nic{}", rank)) +
         "link set nv0 gso_max_segs 1\nlink set nic0 gso_max_segs 1\nlink set nv0 up\nlink set nic0 up\n" +
         fmt::format("addr add {}/24 dev nv0\n", fast_address(shape, rank)) +
         fmt::format("addr add {}/24 dev nic0\n", rank_address(rank)) + neighbours(shape, rank);
}

std::string make_switch_links(const EmulatedShape& shape) {
  std::string lines;
  for (int rank = 0; rank < shape.ranks.world_size(); ++rank) {
    lines += fmt::format("link set nv{} mtu {} master br-nv{} up\n", rank, kFastMtu, node_of(shape, rank));
    lines += fmt::format("link set nic{} mtu {} master br-nic up\n", rank, kNicMtu);
    lines += fmt::format("link set nv{0} gso_max_segs 1\nlink set nic{0} gso_max_segs 1\n", rank);
  }
  return lines;
}

std::string make_rank_shapers(const EmulatedShape& shape) {
  return shaper("add", "nv0", shape.fast, kFastBurst) + shaper("add", "nic0", shape.nic, nic_burst(shape.nic));
}

std::string make_switch_shapers(const EmulatedShape& shape) {
  std::string lines;
  for (int rank = 0; rank < shape.ranks.world_size(); ++rank) {
    lines += shaper("add", fmt::format("nv{}", rank), shape.fast, kFastBurst);
    lines += shaper("add", fmt::format("nic{}", rank), shape.nic, nic_burst(shape.nic));
  }
  return lines;
}

std::string change_nic_shaper(const std::string& device, Bandwidth rate) {
  return shaper("change", device, rate, nic_burst(rate));
}

namespace {

using nlohmann::json;

std::string shown(const std::string& command) {
  const ProgramOutput output = run_program(command);
  if (output.code == 0) return output.out;
  throw run_error(fmt::format("{} failed: {}", command, excerpt(output.err)), "It needs ip and tc of iproute2");
}

std::string qdiscs_of(const std::string& name_space) {
  return shown("tc -j -n " + name_space + " qdisc show");
}

const json* entry_with(const json& list, const char* key, const std::string& value) {
  for (const json& entry : list) {
    if (entry.is_object() && entry.value(key, std::string()) == value) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string wrong_shaper(std::string_view qdiscs, const std::string& device, Bandwidth rate, int mtu, int most_burst) {
  const json list = json::parse(qdiscs, nullptr, false);
  const json* const found = list.is_array() ? entry_with(list, "dev", device) : nullptr;
  if (found == nullptr) return device + " has no shaper";
  if (found->value("kind", std::string()) != "tbf") return device + " has no token bucket";
  const json options = found->value("options", json::object());
  const double got = options.value("rate", 0.0), burst = options.value("burst", 0.0);
  if (std::abs(got / rate.bytes_per_second - 1) > 1e-3) {
    return fmt::format("{} lets {} through, not {}", device, to_text(Bandwidth{got}), to_text(rate));
  }
  // tc rounds the burst down to its clock.
  if (burst < mtu + kFrame || burst > most_burst) return fmt::format("{} has a burst of {} B", device, burst);
  return "";
}

std::string wrong_fast_routes(std::string_view routes, const EmulatedShape& shape, int rank) {
  const json list = json::parse(routes, nullptr, false);
  if (!list.is_array()) return fmt::format("rank {} has no routes", rank);
  const int first = rank / shape.ranks.ranks_per_node * shape.ranks.ranks_per_node;
  for (int peer = first; peer < first + shape.ranks.ranks_per_node; ++peer) {
    if (peer == rank) continue;
    const json* const route = entry_with(list, "dst", rank_address(peer));
    if (route == nullptr || route->value("dev", std::string()) != "nv0") {
      return fmt::format("rank {} does not reach rank {} of its node through its fast port", rank, peer);
    }
  }
  return "";
}

std::string wrong_rank_shapers(const EmulatedShape& shape, int rank) {
  const std::string qdiscs = qdiscs_of(rank_name_space(rank));
  const std::string wrong = wrong_shaper(qdiscs, "nv0", shape.fast, kFastMtu, kFastBurst);
  return wrong.empty() ? wrong_shaper(qdiscs, "nic0", shape.nic, kNicMtu, nic_burst(shape.nic)) : wrong;
}

std::string wrong_switch_shapers(const EmulatedShape& shape) {
  const std::string qdiscs = qdiscs_of(kSwitchNameSpace);
  for (int rank = 0; rank < shape.ranks.world_size(); ++rank) {
    const std::string fast = wrong_shaper(qdiscs, fmt::format("nv{}", rank), shape.fast, kFastMtu, kFastBurst);
    const std::string nic = wrong_shaper(qdiscs, fmt::format("nic{}", rank), shape.nic, kNicMtu, nic_burst(shape.nic));
    if (!fast.empty() || !nic.empty()) return fast.empty() ? nic : fast;
  }
  return "";
}

std::string wrong_routes(const EmulatedShape& shape, int rank) {
  return wrong_fast_routes(shown("ip -j -n " + rank_name_space(rank) + " route"), shape, rank);
}

}  // namespace shardsim
