#include "topology/spec/network_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "base/text.h"
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

constexpr std::array<std::string_view, 7> kAlgorithms = {"Tree",     "Ring", "CollnetDirect", "CollnetChain", "NVLS",
                                                         "NVLSTree", "PAT"};
constexpr std::array<std::string_view, 3> kProtocols = {"LL", "LL128", "Simple"};

bool excludes(std::string_view list) {
  return list.starts_with('^');
}

std::vector<std::string> words(std::string_view list) {
  if (excludes(list)) list.remove_prefix(1);
  return list.empty() ? std::vector<std::string>{} : split(list, ',');
}

bool has(std::string_view list, std::string_view name) {
  return std::ranges::any_of(words(list), [&](const std::string& word) { return same_but_case(word, name); });
}

std::string unknown_in(std::string_view list, std::span<const std::string_view> known) {
  for (const std::string& word : words(list))
    if (std::ranges::none_of(known, [&](std::string_view name) { return same_but_case(word, name); })) return word;
  return "";
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

bool leaves(std::string_view list, std::string_view name) {
  return list.empty() || has(list, name) != excludes(list);
}

bool names(std::string_view list, std::string_view name) {
  return !excludes(list) && has(list, name);
}

std::string unknown_algorithm(std::string_view list) {
  return unknown_in(list, kAlgorithms);
}

std::string unknown_protocol(std::string_view list) {
  return unknown_in(list, kProtocols);
}

void NcclSettings::keys(Fields& map) {
  const auto refuse_unknown = [&](const char* key, const std::string& word, std::span<const std::string_view> known) {
    map.refuse_if(!word.empty(), key, "unknown name " + excerpt(word),
                  known_names_hint(word, {known.begin(), known.end()}));
  };
  map.usual("NCCL's choice")
      .take("algorithm", algorithm,
            "as NCCL_ALGO: `Ring`, `Tree,Ring`, or `^NVLS` for all but that one. Of Tree, Ring, CollnetDirect, "
            "CollnetChain, NVLS, NVLSTree and PAT; a collective that has none of them runs rings");
  refuse_unknown("algorithm", unknown_algorithm(algorithm), kAlgorithms);
  map.usual("NCCL's choice")
      .take("protocol", protocol, "as NCCL_PROTO: of LL, LL128 and Simple, written like `algorithm`");
  refuse_unknown("protocol", unknown_protocol(protocol), kProtocols);
  map.usual("found from the links")
      .take("channels", channels, up_to(kMostChannels),
            "the channels (CTAs) that a kernel of NCCL runs, as NCCL_MAX_CTAS and NCCL_MIN_CTAS set it. Each moves a "
            "bounded rate, so few of them limit a collective");
  map.take(
      "cross_nic", cross_nic, count_leaf(Bounds::from(kNeverCrossNic).to(kCrossNicIfFaster)),
      "as NCCL_CROSS_NIC: whether a ring may leave a node by another NIC than the one that it came in by. 0: never; "
      "1: always; 2: where NCCL's search finds more bandwidth so, as rings do then without their last hop inside "
      "the node. For channels that NCCL's search finds: those that `graph.multi_node` states keep their NIC");
}

}  // namespace shardsim
