#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "validate/emulated/emulated_shape.h"
#include "validate/emulated/rank_processes.h"

namespace shardsim {
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
  constexpr int kFrame = 14;
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
  return wrong.empty() ? wrong_shaper(qdiscs, "nic0", shape.nic, kNicMtu, kNicBurst) : wrong;
}

std::string wrong_switch_shapers(const EmulatedShape& shape) {
  const std::string qdiscs = qdiscs_of(kSwitchNameSpace);
  for (int rank = 0; rank < shape.ranks.world_size(); ++rank) {
    const std::string fast = wrong_shaper(qdiscs, fmt::format("nv{}", rank), shape.fast, kFastMtu, kFastBurst);
    const std::string nic = wrong_shaper(qdiscs, fmt::format("nic{}", rank), shape.nic, kNicMtu, kNicBurst);
    if (!fast.empty() || !nic.empty()) return fast.empty() ? nic : fast;
  }
  return "";
}

std::string wrong_routes(const EmulatedShape& shape, int rank) {
  return wrong_fast_routes(shown("ip -j -n " + rank_name_space(rank) + " route"), shape, rank);
}

}  // namespace shardsim
