#include "cli/commands/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "base/tree/yaml.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "models/collective/fitted_overheads.h"
#include "topology/export/export.h"
#include "topology/import/node_inventory.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostDump = std::size_t{64} << 20;
constexpr std::int64_t kMostNodes = 1'000'000;

// Readers meet the sources in the order of the file, whoever changes a spec adds them at the end.
ClusterSpec with_sorted_sources(ClusterSpec spec) {
  std::ranges::sort(spec.sources, {}, &SourcedValue::path);
  return spec;
}

// What is written must read back as what was found, and make a cluster.
void prove(const std::string& text, const ClusterSpec& spec) {
  ClusterSpec again = read_cluster(parse_yaml(text, spec.name + ".yaml"));
  if (!(with_sorted_sources(again) == with_sorted_sources(spec)))
    throw run_error("the cluster written is not the cluster read", "Please report it with the input");
  if (!again.nics) again.nodes = 1;
  const Cluster cluster(again);
}

Cluster named_cluster(const Arguments& given) {
  const std::string& name = given.positional()[0];
  return asked_cluster(name, {"argument " + name}, given);
}

int show(const Arguments& given, const Terminal&) {
  print_result(cluster_text(named_cluster(given)));
  return 0;
}

ImportOptions import_options(const Arguments& given, const std::string& file) {
  ImportOptions options;
  const std::string output = given.value("output").value_or("-");
  options.name = cluster_name_of(output == "-" ? file : output);
  options.gpu_model = given.value("gpu").value_or("");
  if (const auto rate = given.value("nic")) options.nic_rate = parse_bandwidth(*rate, Arguments::place("nic"));
  if (const auto generation = given.count("pcie", 3, 6)) options.pcie_generation = static_cast<int>(*generation);
  return options;
}

ClusterSpec imported(const std::string& file, ImportOptions options) {
  const std::string text = read_file(file, kMostDump);
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string::npos && text[first] == '<') {
    options.gpu_model_may_be_assumed = true;
    return cluster_of(read_nccl_xml(text, file), options);
  }
  if (!looks_like_smi_matrix(text)) {
    throw input_error({file}, "neither an NCCL topology (XML) nor a matrix of nvidia-smi topo -m",
                      "Dump one with NCCL_TOPO_DUMP_FILE, or paste the matrix");
  }
  if (options.gpu_model.empty()) {
    throw input_error(Arguments::place("gpu"), "a matrix does not name its GPUs",
                      "Name their model, e.g. --gpu A100-SXM4-40GB");
  }
  return cluster_of(read_smi_matrix(text, file, find_gpu_model(options.gpu_model)), options);
}

int import_file(const Arguments& given, const Terminal&) {
  const ClusterSpec spec = imported(given.positional()[0], import_options(given, given.positional()[0]));
  deliver_cluster(spec, given);
  for (const std::string& note : spec.open) print_note(note);
  return 0;
}

int export_platform(const Arguments& given, const Terminal&) {
  deliver(write_simgrid_xml(named_cluster(given)), given, "<platform");
  return 0;
}

Positional cluster_positional() {
  return {"NAME|FILE", "A cluster as `shardsim list clusters` names it, or a file."};
}

Command show_command() {
  return {.name = "shardsim cluster show",
          .summary = "print its tiers, path classes, ports and sourced values",
          .positionals = {cluster_positional()},
          .options = {nodes_option(), cluster_set_option()},
          .examples = {"shardsim cluster show dgx1_v100",
                       "shardsim cluster show dgx_a100_80gb --nodes 4 --set nics.rate='400 Gbit/s'"},
          .run = show};
}

Command import_command() {
  return {.name = "shardsim cluster import",
          .summary = "make a cluster file of what a node says of itself",
          .positionals = {{"FILE", "An NCCL topology (NCCL_TOPO_DUMP_FILE), or the text of nvidia-smi topo -m."}},
          .options = {output_file_option(),
                      {"gpu", 0, "MODEL", "The GPU model, where the file does not name it."},
                      {"pcie", 0, "GEN", "The PCIe generation of the slots (3 to 6), instead of what the file says."},
                      {"nic", 0, "RATE", "The rate of a NIC (\"200 Gbit/s\"), instead of what the file says."},
                      force_option()},
          .run = import_file};
}

Command export_command() {
  return {.name = "shardsim cluster export",
          .summary = "write a cluster in the form of another program",
          .positionals = {cluster_positional()},
          .options = {{"simgrid", 0, "", "Write a SimGrid platform.", "", Option::Times::once},
                      nodes_option(),
                      cluster_set_option(),
                      output_file_option(),
                      force_option()},
          .examples = {"shardsim cluster export --simgrid toy_2x4 -o out/toy.xml"},
          .run = export_platform};
}

}  // namespace

Cluster asked_cluster(const std::string& name, const Place& place, const Arguments& given) {
  Tree tree = load_named(name, "clusters", "", place);
  for (const char* const key : {"nodes", "fits"}) {
    if (const auto value = given.value(key)) set_path(tree, key, parse_yaml_value(*value, Arguments::place(key)));
  }
  given.count("nodes", 1, kMostNodes);
  for (const auto& [path, text] : overrides(given).set) {
    const std::string key = path.starts_with("cluster.") ? path.substr(path.find('.') + 1) : path;
    set_path(tree, key, parse_yaml_value(text, Arguments::place("set " + path)));
  }
  return Cluster(with_fits(read_cluster(tree)));
}

Option nodes_option() {
  return {"nodes", 0, "N", "Take so many nodes instead of the file's."};
}

Option cluster_set_option() {
  return {
      "set", 0, "PATH=VALUE", "Change one value of the cluster, e.g. nics.rate='400 Gbit/s'.", "", Option::Times::any};
}

void deliver_cluster(const ClusterSpec& spec, const Arguments& given) {
  const std::string text = write_cluster(spec);
  prove(text, spec);
  deliver(text, given, "shardsim.cluster/1");
}

std::vector<Option> measurement_options() {
  return {
      {"measurements", 0, "PATH", "Measured times: a CSV table, or text or JSON of nccl-tests.", "",
       Option::Times::once},
      {"system", 0, "LABEL", "Which system is measured; output of nccl-tests is of the one that its file's name says."},
      {"kind", 0, "KIND", "The collective of nccl-tests, where neither its output nor the file's name says it."}};
}

RunHints measurement_hints(const Arguments& given) {
  RunHints result;
  result.system = given.text("system");
  const auto name = given.value("kind");
  if (!name) return result;
  result.kind = find_collective_kind(*name);
  if (result.kind) return result;
  throw input_error(Arguments::place("kind"), "unknown collective " + excerpt(*name),
                    known_names_hint(*name, collective_kind_names()));
}

void print_notes(const Measurements& measurements) {
  for (const std::string& note : measurements.notes) print_note(note);
}

Command cluster_command() {
  return {.name = "shardsim cluster",
          .summary = "show a cluster, import, export or calibrate one",
          .examples = {"shardsim cluster show dgx1_v100",
                       "shardsim cluster calibrate --cluster dgx1_v100 --measurements "
                       "scenarios/measurements/open/v100_hybrid_cube_mesh.csv -o out/my_v100.yaml"},
          .parts = {show_command(), import_command(), export_command(), cluster_calibrate_command()}};
}

}  // namespace shardsim
