#include "topology/spec/network_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "topology/spec/rank_set.h"

namespace shardsim {
namespace {

std::vector<std::vector<int>> read_rings(const std::vector<Tree>& orders, int gpu_count) {
  std::vector<std::vector<int>> rings;
  std::vector<int> every(static_cast<std::size_t>(gpu_count));
  std::iota(every.begin(), every.end(), 0);
  for (const Tree& item : orders) {
    rings.push_back(read_indices(item, gpu_count, "GPU"));
    if (std::is_permutation(rings.back().begin(), rings.back().end(), every.begin(), every.end())) continue;
    throw input_error(item.place, "a ring does not visit every GPU once",
                      fmt::format("Write a permutation of 0 to {}", gpu_count - 1));
  }
  return rings;
}

}  // namespace

void GraphSpec::rings_key(Fields& map, int gpu_count) {
  if (map.writing()) {
    std::vector<std::string> texts;
    for (const auto& ring : rings) texts.push_back(indices_text(ring));
    return texts.empty() ? void() : map.writer().put_list("rings", texts);
  }
  const Shape shape = list_shape(list_shape(leaf_shape(count_leaf())));
  map.usual("found").custom("rings", shape, "lists of GPU orders: at most one per channel, each a permutation");
  if (!map.reading() || !map.reader().has("rings")) return;
  rings = read_rings(map.reader().list("rings"), gpu_count);
  map.refuse_if(static_cast<int>(rings.size()) > channels, "rings",
                fmt::format("{} rings for {} channels", rings.size(), channels), "Write one ring per channel at most");
}

}  // namespace shardsim
