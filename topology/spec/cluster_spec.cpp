#include "topology/spec/cluster_spec.h"

#include <fmt/format.h>

#include "topology/spec/domain.h"
#include "topology/spec/spec_fields.h"

namespace shardsim {
namespace {

constexpr std::string_view kClusterSchema = "shardsim.cluster/1";
constexpr int kMostNodes = 100'000;

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

void read_head(MapReader& reader, ClusterSpec& spec) {
  reader.get("schema", word_leaf({std::string(kClusterSchema)}, "schema of a cluster file"));
  reader.has("base");  // merged by whoever found the file
  spec.name = reader.name("name");
  spec.open = reader.texts("open");
}

void head_fields(SpecFields& fields, ClusterSpec& spec) {
  if (fields.reading()) return read_head(fields.reader(), spec);
  fields.writer().put("schema", std::string(kClusterSchema));
  fields.writer().put("name", spec.name);
  std::vector<std::string> open;
  for (const std::string& entry : spec.open) open.push_back(yaml_quoted(entry));
  fields.writer().put_list("open", open);
}

void take_cost(SpecFields& fields, std::optional<double>& cost) {
  constexpr const char* key = "cost_per_gpu_hour";
  if (fields.reading() ? !fields.reader().has(key) : !cost) return;
  double held = cost.value_or(0);
  fields.take_real(key, held, Bounds::from(0));
  cost = held;
}

// A map comes after those whose values its defaults and limits ask for.
void cluster_fields(SpecFields& fields, ClusterSpec& spec) {
  head_fields(fields, spec);
  fields.take("summary", spec.summary);
  fields.take("nodes", spec.nodes, kMostNodes);
  take_cost(fields, spec.cost_per_gpu_hour);
  if (fields.reading() || !spec.currency.empty()) fields.take("currency", spec.currency);
  fields.choose("device", spec.device, {"cuda", "cpu"});
  fields.choose("nccl", spec.nccl, {"2.14", "2.30"});
  fields.choose("fits", spec.fits, {"none", "open_data"});
  if (fields.reading()) fields.reader().required("gpu");
  fields.map("gpu", [&](SpecFields& map) { gpu_fields(map, spec.gpu, spec.device); });
  fields.map("nics", spec.nics, [&](SpecFields& map, NicSpec& nics) { nics_fields(map, nics, spec.gpu.count); });
  fields.map("nvlink", [&](SpecFields& map) { nvlink_fields(map, spec.nvlink, spec.gpu, spec.nccl); });
  fields.map("pcie", [&](SpecFields& map) { pcie_fields(map, spec.pcie, spec.gpu.count, spec.nics); });
  if (fields.reading()) spec.host.gpu_link_bandwidth = pcie_rate(spec.pcie);
  fields.map("host", [&](SpecFields& map) { host_fields(map, spec.host); });
  fields.map("fabric", [&](SpecFields& map) { fabric_fields(map, spec.fabric); });
  if (fields.reading() || spec.graph_one_node || spec.graph_multi_node)
    fields.map("graph", [&](SpecFields& map) { graph_fields(map, spec); });
  fields.map("p2p", [&](SpecFields& map) { p2p_fields(map, spec.p2p); });
  fields.map("overheads", [&](SpecFields& map) { overheads_fields(map, spec); });
  fields.list("faults", spec.faults, fault_fields);
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

ClusterSpec read_cluster(const Tree& tree) {
  ClusterSpec spec;
  spec.places = places_of(tree);
  MapReader reader(tree, "", &spec.sources);
  SpecFields fields(reader);
  check_derived(tree);
  cluster_fields(fields, spec);
  reader.finish();
  check_spec(spec);
  join_hosts(spec);
  return spec;
}

std::string write_cluster(const ClusterSpec& written) {
  ClusterSpec spec = written;  // what is declared for reading and writing alike takes values that may be set
  part_hosts(spec);
  SpecWriter writer(written.sources);
  SpecFields fields(writer);
  cluster_fields(fields, spec);
  return writer.text();
}

}  // namespace shardsim
