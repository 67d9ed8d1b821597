#include "topology/spec/cluster_spec.h"

#include <fmt/format.h>

#include "topology/spec/domain.h"
#include "topology/spec/gpu_cut.h"
#include "topology/spec/gpu_models.h"

namespace shardsim {
namespace {

constexpr std::string_view kClusterSchema = "shardsim.cluster/1";

void add_places(const Tree& tree, const std::string& path, int named_at, SpecPlaces& places) {
  places.by_path[path] = tree.place;
  if (tree.layer > named_at) places.changed.insert(path);
  if (is_sourced_value(tree)) return;
  const std::string before = path.empty() ? "" : path + ".";
  for (const auto& [key, value] : tree.fields) add_places(value, before + key, named_at, places);
  for (std::size_t i = 0; i < tree.items.size(); ++i)
    places.by_path[fmt::format("{}{}", before, i)] = tree.items[i].place;
}

SpecPlaces places_of(const Tree& tree) {
  SpecPlaces places;
  const Tree* const name = tree.find("name");
  add_places(tree, "", name == nullptr ? 0 : name->layer, places);
  return places;
}

// `search` in place of a table: what a file below states is not to be taken.
bool says_search(Fields& map, const char* key) {
  if (!map.reading() || !map.reader().has(key)) return false;
  const Tree& value = *map.reader().value(key);
  return value.kind == Tree::Kind::scalar && value.scalar == "search";
}

}  // namespace

Place SpecPlaces::of(const std::string& path) const {
  for (std::string at = path;; at.resize(at.rfind('.') == std::string::npos ? 0 : at.rfind('.'))) {
    if (const auto found = by_path.find(at); found != by_path.end()) return found->second;
    if (at.empty()) return {"cluster", 0, 0};
  }
}

bool SpecPlaces::states_within(const std::string& path) const {
  const auto next = by_path.lower_bound(path + ".");
  return next != by_path.end() && next->first.starts_with(path + ".");
}

void ClusterSpec::head_keys(Fields& map) {
  std::string schema(kClusterSchema);
  map.need("schema", schema, word_leaf({schema}, "schema of a cluster file"), "what the file is");
  map.known("base", text_leaf(kNotEmpty).form, "the cluster to start from: a shipped name, or a file");
  map.need("name", name, text_leaf(kNameRule), "for a shipped cluster, its file name without ending");
  map.texts("open", open, "what public information leaves open, as a note to readers of the file");
}

void ClusterSpec::graph_keys(Fields& map) {
  bool crosses = false;
  if (!map.writing()) map.take("cross_nic", crosses, "`true` is refused, because a channel always keeps its NIC here");
  map.refuse_if(crosses, "cross_nic", "rings that change NICs from node to node (NCCL_CROSS_NIC) are not simulated",
                "Leave cross_nic out: a channel of this table keeps its NIC. Where the table is left to NCCL's search, "
                "nccl_settings.cross_nic decides");
  const auto reach = [&](const char* key, std::optional<GraphSpec>& graph, bool across_nodes) {
    if (says_search(map, key)) return;
    map.map(key, graph, "the channels of groups inside a node, or across nodes; `search` finds them",
            [&](Fields& inside, GraphSpec& held) { held.keys(inside, gpu.count, across_nodes); });
    map.also({Form::Kind::choice, {"search"}});
  };
  reach("one_node", graph_one_node, false);
  reach("multi_node", graph_multi_node, true);
}

Shape cluster_shape() {
  Shape shape;
  Fields map(shape);
  ClusterSpec().keys(map);
  return shape;
}

ClusterSpec read_cluster(const Tree& stated) {
  const auto [tree, gone] = cut_to_gpus(stated);
  ClusterSpec spec;
  spec.places = places_of(tree);
  spec.places.gone = gone;
  MapReader reader(tree, "", &spec.sources);
  Fields map(reader);
  check_derived(tree);
  spec.keys(map);
  reader.finish();
  if (!spec.places.states("pcie.p2p") && !has_peer_to_peer(spec.gpu.model)) spec.pcie.p2p = false;
  check_spec(spec);
  join_hosts(spec);
  return spec;
}

std::string write_cluster(const ClusterSpec& written) {
  ClusterSpec spec = written;  // what is said for reading and writing alike takes values that may be set
  part_hosts(spec);
  YamlWriter writer(written.sources);
  Fields map(writer);
  spec.keys(map);
  return writer.text();
}

}  // namespace shardsim
