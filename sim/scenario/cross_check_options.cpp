#include "sim/scenario/cross_check_options.h"

#include <fmt/format.h>

#include "base/map_reader.h"

namespace shardsim {
namespace {

constexpr std::int64_t kMostExplained = 1000;

}  // namespace

torchrec::PlannerRequest CrossCheckOptions::request(const Workload& workload, const Cluster& cluster) const {
  torchrec::PlannerOptions options;
  options.topology = topology;
  return torchrec::planner_request(options, workload, cluster);
}

CrossCheckOptions read_cross_check(const Tree& map) {
  if (map.kind != Tree::Kind::map) {
    throw input_error(map.place, fmt::format("'cross_check' is {}, not a map", kind_name(map.kind)),
                      "Write 'cross_check: {worst: 5}', or {} for the defaults");
  }
  MapReader reader(map, "cross_check");
  CrossCheckOptions options;
  options.place = map.place;
  const std::int64_t worst = reader.count("worst", 5);
  if (worst > kMostExplained) {
    throw input_error(reader.place_of("worst"), fmt::format("{} plans to explain", worst),
                      fmt::format("Give at most {}", kMostExplained));
  }
  options.worst = static_cast<std::size_t>(worst);
  options.topology = torchrec::read_topology_options(reader.map("topology"));
  reader.finish();
  return options;
}

}  // namespace shardsim
