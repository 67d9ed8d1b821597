#include "cli/emulated_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/units.h"

namespace shardsim {
namespace {

// Larger numbers are refused by check_shape, too.
int count_of(const Arguments& given, const std::string& name, int otherwise) {
  const auto text = given.value(name);
  if (!text) return otherwise;
  constexpr std::int64_t kMost = std::numeric_limits<short>::max();
  return static_cast<int>(std::min(kMost, parse_count(*text, Arguments::place(name))));
}

Bandwidth rate_of(const Arguments& given, const std::string& name, Bandwidth otherwise) {
  const auto text = given.value(name);
  return text ? parse_bandwidth(*text, Arguments::place(name)) : otherwise;
}

}  // namespace

std::vector<OptionSpec> emulated_options() {
  return {{"nodes", 0, true, false},
          {"gpus-per-node", 0, true, false},
          {"fast", 0, true, false},
          {"nic", 0, true, false},
          {"straggler", 0, true, false}};
}

EmulatedShape emulated_shape(const Arguments& given) {
  EmulatedShape shape;
  shape.ranks.nodes = count_of(given, "nodes", shape.ranks.nodes);
  shape.ranks.ranks_per_node = count_of(given, "gpus-per-node", shape.ranks.ranks_per_node);
  shape.fast = rate_of(given, "fast", shape.fast);
  shape.nic = rate_of(given, "nic", shape.nic);
  check_shape(shape);
  return shape;
}

std::optional<int> straggler_of(const Arguments& given, const EmulatedShape& shape) {
  if (!given.has("straggler")) return std::nullopt;
  const int rank = count_of(given, "straggler", 0);
  if (rank < shape.ranks.world_size()) return rank;
  throw input_error(Arguments::place("straggler"), fmt::format("there is no rank {}", rank),
                    fmt::format("Ranks go from 0 to {}", shape.ranks.world_size() - 1));
}

}  // namespace shardsim
