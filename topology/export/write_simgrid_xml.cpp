#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "topology/export/export.h"

namespace shardsim {
namespace {

constexpr int kMostPlatformRanks = 1024;

// One direction of a port: the name both directions share, and which one it is.
struct Direction {
  std::string port;
  bool up = true;
};

// "node0/nvlink/3-0" is the way down of "node0/nvlink/0-3".
Direction split_pair(const std::string& name) {
  const std::size_t slash = name.rfind('/') + 1;
  const std::size_t dash = name.find('-', slash);
  const std::string from = name.substr(slash, dash - slash), to = name.substr(dash + 1);
  const bool up = from.size() != to.size() ? from.size() < to.size() : from < to;
  return {name.substr(0, slash) + (up ? from + "-" + to : to + "-" + from), up};
}

Direction direction_of(const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kEnds[] = {
      {"_out", "_in"}, {"/out", "/in"}, {"/up", "/down"}};
  for (const auto& [up, down] : kEnds) {
    if (name.ends_with(up)) return {name.substr(0, name.size() - up.size()), true};
    if (name.ends_with(down)) return {name.substr(0, name.size() - down.size()), false};
  }
  return split_pair(name);
}

// The names of the cluster's links in the platform.
class LinkNames {
 public:
  explicit LinkNames(const Cluster& cluster) : cluster_(cluster) {
    for (std::size_t id = 0; id < cluster.links().size(); ++id) {
      const Direction way = direction_of(cluster.link_name(static_cast<LinkId>(id)));
      Port& port = ports_[way.port];
      (way.up ? port.up : port.down) = &cluster.links()[id];
    }
  }

  std::string definitions() const {
    std::string text;
    for (std::size_t id = 0; id < cluster_.links().size(); ++id) {
      const std::string name = cluster_.link_name(static_cast<LinkId>(id));
      const Direction way = direction_of(name);
      if (!is_duplex(way.port)) {
        text += definition(name, cluster_.links()[id].rate, "SHARED");
      } else if (way.up) {
        text += definition(way.port, cluster_.links()[id].rate, "SPLITDUPLEX");
      }
    }
    return text;
  }
  std::string reference(LinkId id) const {
    const std::string name = cluster_.link_name(id);
    const Direction way = direction_of(name);
    if (!is_duplex(way.port)) return fmt::format("<link_ctn id=\"{}\"/>", name);
    return fmt::format("<link_ctn id=\"{}\" direction=\"{}\"/>", way.port, way.up ? "UP" : "DOWN");
  }

 private:
  struct Port {
    const Link* up = nullptr;
    const Link* down = nullptr;
  };
  // A fault may slow one direction alone; then they are two links.
  bool is_duplex(const std::string& name) const {
    const Port& port = ports_.at(name);
    return port.up != nullptr && port.down != nullptr && port.up->rate == port.down->rate;
  }
  static std::string definition(const std::string& name, Bandwidth rate, std::string_view policy) {
    return fmt::format("  <link id=\"{}\" bandwidth=\"{}Bps\" latency=\"0s\" sharing_policy=\"{}\"/>\n", name,
                       shortest(rate.bytes_per_second), policy);
  }

  const Cluster& cluster_;
  std::map<std::string, Port> ports_;
};

const Route& main_way(const Route& route) {
  const Route* best = &route;
  for (const Route& other : route.also) {
    if (other.share > best->share) best = &other;
  }
  return *best;
}

// Routes of equal latency share one link that never limits.
std::string latency_link(Seconds latency) {
  return fmt::format("latency_{}s", shortest(latency.value));
}

struct Routes {
  std::string text;
  std::map<std::string, Seconds> latencies;
};

Routes routes_of(const Cluster& cluster, const LinkNames& names) {
  Routes routes;
  for (int from = 0; from < cluster.world_size(); ++from) {
    for (int to = 0; to < cluster.world_size(); ++to) {
      if (from == to) continue;
      const Route all = cluster.route(from, to);
      const Route& way = main_way(all);
      routes.text += fmt::format("  <route src=\"rank{}\" dst=\"rank{}\" symmetrical=\"NO\">", from, to);
      for (const LinkId id : way.links) routes.text += names.reference(id);
      routes.text += fmt::format("<link_ctn id=\"{}\"/></route>\n", latency_link(all.latency));
      routes.latencies[latency_link(all.latency)] = all.latency;
    }
  }
  return routes;
}

std::string hosts_of(const Cluster& cluster) {
  std::string text;
  const double flops = cluster.spec().gpu.flops.at("fp32").per_second * cluster.spec().gpu.flops_efficiency;
  for (int rank = 0; rank < cluster.world_size(); ++rank) {
    text +=
        fmt::format("  <host id=\"rank{}\" speed=\"{}f\"/>\n", rank, shortest(flops * cluster.compute_factor(rank)));
  }
  return text;
}

constexpr std::string_view kHead = R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
)";

// SimGrid's own defaults scale bandwidths and latencies by factors fitted to TCP.
constexpr std::string_view kSettings = R"(<!-- For sharing as shardsim has it:
     cfg=network/model:CM02 cfg=network/crosstraffic:0 cfg=network/TCP-gamma:0 -->
)";

}  // namespace

std::string write_simgrid_xml(const Cluster& cluster) {
  if (cluster.world_size() > kMostPlatformRanks) {
    throw input_error(cluster.spec().places.of("nodes"),
                      fmt::format("a platform of {} ranks, over {}", cluster.world_size(), kMostPlatformRanks),
                      "Export fewer nodes: --nodes N");
  }
  const LinkNames names(cluster);
  const Routes routes = routes_of(cluster, names);
  std::string text(kHead);
  text += kSettings;
  text += fmt::format("<platform version=\"4.1\">\n<zone id=\"{}\" routing=\"Full\">\n", cluster.spec().name);
  text += hosts_of(cluster) + names.definitions();
  for (const auto& [name, latency] : routes.latencies) {
    text += fmt::format("  <link id=\"{}\" bandwidth=\"1e18Bps\" latency=\"{}s\" sharing_policy=\"FATPIPE\"/>\n", name,
                        shortest(latency.value));
  }
  return text + routes.text + "</zone>\n</platform>\n";
}

}  // namespace shardsim
