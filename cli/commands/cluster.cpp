#include "cli/commands/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/encoding.h"
#include "base/files.h"
#include "base/text.h"
#include "base/tree/tree_editor.h"
#include "base/tree/yaml.h"
#include "cli/commands/all.h"
#include "cli/commands/shared.h"
#include "models/collective/fitted_overheads.h"
#include "study/scenario/named_tree.h"
#include "topology/export/export.h"
#include "topology/import/listed_devices.h"
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

// Proves that the text reads back as the same spec and makes a cluster. Errors: Failure::run when it reads back
// differently.
void prove(const std::string& text, const ClusterSpec& spec) {
  ClusterSpec again = read_cluster(parse_yaml(text, spec.name + ".yaml"));
  if (!(with_sorted_sources(again) == with_sorted_sources(spec)))
    throw run_error("reading back the cluster that was written gives another cluster",
                    "Please report it with the input");
  if (!again.nics) again.nodes = 1;
  const Cluster cluster(again);
}

Cluster named_cluster(const Arguments& given) {
  const std::string& name = given.positional()[0];
  return asked_cluster(name, {"argument " + name}, given);
}

int show(const Arguments& given, const Terminal&) {
  const Cluster cluster = named_cluster(given);
  print_lines(shows_details(given) ? cluster_text(cluster) : brief_cluster_text(cluster));
  return 0;
}

ImportOptions import_options(const Arguments& given, const std::string& file) {
  ImportOptions options;
  const std::string output = given.value("output").value_or("-");
  options.name = cluster_name_of(output == "-" ? file : output);
  options.gpu_model = given.value("gpu").value_or("");
  options.gpu_like = given.value("gpu-like").value_or("");
  options.nics = given.value("nics").value_or("");
  if (const auto links = given.count("nvlinks", 1, kMostLinksPerGpu)) options.nvlinks = static_cast<int>(*links);
  if (const auto rate = given.value("cpu-link"))
    options.cpu_link = parse_bandwidth(*rate, Arguments::place("cpu-link"));
  if (!options.gpu_like.empty() && options.gpu_model.empty())
    throw input_error(Arguments::place("gpu-like"), "the option lends the data sheet of a model to another one",
                      "Name that one with --gpu NAME");
  if (const auto rate = given.value("nic")) options.nic_rate = parse_bandwidth(*rate, Arguments::place("nic"));
  if (const auto generation = given.count("pcie", 3, 6)) options.pcie_generation = static_cast<int>(*generation);
  return options;
}

ClusterSpec imported(const std::string& file, ImportOptions options) {
  std::string text = read_file(file, kMostDump);
  if (is_utf16(text)) text = ascii_of_utf16(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first != std::string::npos && text[first] == '<') {
    options.gpu_model_may_be_assumed = true;
    return cluster_of(read_nccl_xml(text, file), options);
  }
  if (text.find("ROCm System Management") != std::string::npos)
    throw input_error({file}, "this is the output of rocm-smi, of GPUs of AMD", "Only GPUs of NVIDIA are modelled");
  if (!looks_like_smi_matrix(text)) {
    throw input_error({file}, "this is neither an NCCL topology (XML) nor the output of nvidia-smi topo -m",
                      "Dump one with NCCL_TOPO_DUMP_FILE, or paste the matrix");
  }
  const bool is_named = !options.gpu_model.empty();
  if (!is_named) options.gpu_model = listed_gpu(text, file);
  if (options.gpu_model.empty()) {
    throw input_error(Arguments::place("gpu"), "the file does not name the GPU model",
                      "Name the model, for example --gpu A100-SXM4-40GB, or put the output of nvidia-smi -L above it");
  }
  const GpuModel model = chosen_model(options);
  NodeInventory node = read_smi_matrix(text, file, model);
  if (is_named && options.gpu_like.empty()) note_other_gpus(text, model, node);
  return cluster_of(std::move(node), options);
}

int import_file(const Arguments& given, const Terminal&) {
  const ClusterSpec spec = imported(given.positional()[0], import_options(given, given.positional()[0]));
  deliver_cluster(spec, given);
  for (const std::string& note : spec.open) print_note(note);
  return 0;
}

int export_platform(const Arguments& given, const Terminal&) {
  deliver(write_simgrid_xml(named_cluster(given)), given);
  return 0;
}

// The changes that --set makes, whose paths may begin with "cluster.". Errors: Failure::input; a path that is given in
// both forms.
Overrides cluster_changes(const Arguments& given) {
  constexpr std::string_view kHead = "cluster.";
  Overrides changes;
  for (auto [path, text] : overrides(given).set) {
    if (path.starts_with(kHead)) path.erase(0, kHead.size());
    for (const auto& [known, value] : changes.set) {
      if (known == path) throw input_error(Arguments::place("set " + path), "the path is set twice", "Set it once");
    }
    changes.set.emplace_back(path, text);
  }
  return changes;
}

// --system and --kind speak for output that does not name itself; a table names both in its rows.
void check_is_used(const std::string& option, const std::string& value, const std::vector<MeasuredRow>& rows,
                   const std::function<bool(const MeasuredRow&)>& agrees) {
  const auto others = std::ranges::count_if(rows, std::not_fn(agrees));
  if (others == 0) return;
  if (static_cast<std::size_t>(others) == rows.size()) {
    throw input_error(Arguments::place(option),
                      "no row is of " + excerpt(value) + ", and in a table each row says this itself",
                      "Leave the option out, or change the table");
  }
  print_note(
      fmt::format("--{} {} has no effect on {} rows of tables, which state something else", option, value, others));
}

Positional cluster_positional() {
  return {"NAME|FILE", "The name of a shipped cluster (see `shardsim list clusters`), or a file."};
}

Command show_command() {
  return {.name = "shardsim cluster show",
          .summary = "print a cluster's links, the paths between its GPUs, its ports and where its numbers come from",
          .positionals = {cluster_positional()},
          .options = {nodes_option(), cluster_set_option(), details_option()},
          .examples = {"shardsim cluster show dgx1_v100",
                       "shardsim cluster show dgx_a100_80gb --nodes 4 --set nics.rate='400 Gbit/s'"},
          .run = show};
}

Command import_command() {
  return {
      .name = "shardsim cluster import",
      .summary = "make a cluster file from the topology that a node reports",
      .positionals = {{"FILE",
                       "A topology that NCCL wrote (environment variable NCCL_TOPO_DUMP_FILE), or the output of "
                       "`nvidia-smi topo -m`."}},
      .options = {output_file_option(),
                  {"gpu", 0, "MODEL", "The GPU model, if the file does not name it."},
                  {"gpu-like", 0, "MODEL",
                   "Take memory, rates and caches of this model for the one that --gpu names, if that is not known."},
                  {"nvlinks", 0, "N",
                   "Each GPU has N NVLinks to an NVSwitch, if the file hides them as `nvidia-smi topo -mp` does."},
                  {"nics", 0, "LIST",
                   "Use the NICs that LIST names, written like NCCL_IB_HCA: beginnings of names (mlx5_0,mlx5_1), "
                   "whole names after =, or all but those after ^. Without it, NICs that share no PCIe switch with "
                   "a GPU are left out where others do."},
                  {"cpu-link", 0, "RATE",
                   "The rate between two sockets, for example \"40 GB/s\", which no file states."},
                  {"pcie", 0, "GEN", "Use this PCIe generation (3 to 6) instead of the one in the file."},
                  {"nic", 0, "RATE",
                   "Use this rate of each NIC, for example \"200 Gbit/s\", instead of the one in the file."},
                  force_option()},
      .run = import_file};
}

Command export_command() {
  return {.name = "shardsim cluster export",
          .summary = "write a cluster as a file for another program",
          .positionals = {cluster_positional()},
          .options = {{"simgrid", 0, "", "Write a platform file for SimGrid.", "", Option::Times::once},
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
  const Overrides changes = cluster_changes(given);
  for (const char* const key : {"nodes", "fits"}) {
    refuse_beside_set(changes, given, key, key);
    if (const auto value = given.value(key)) set_path(tree, key, parse_yaml_value(*value, Arguments::place(key)));
  }
  given.count("nodes", 1, kMostNodes);
  for (const auto& [path, text] : changes.set)
    set_in_named(tree, path, parse_yaml_value(text, Arguments::place("set " + path)), "Name another cluster");
  return Cluster(with_fits(read_cluster(tree)));
}

Option nodes_option() {
  return {"nodes", 0, "N", "Simulate this number of nodes instead of the number in the cluster file."};
}

Option cluster_set_option() {
  return {"set",        0,
          "PATH=VALUE", "Change one value of the cluster, for example nics.rate='400 Gbit/s'.",
          "",           Option::Times::any};
}

void deliver_cluster(const ClusterSpec& spec, const Arguments& given) {
  const std::string text = write_cluster(spec);
  prove(text, spec);
  deliver(text, given);
}

std::vector<Option> measurement_options() {
  return {
      {"measurements", 0, "PATH", "The file of measured times: a CSV table, or the text or JSON output of nccl-tests.",
       "", Option::Times::once},
      {"system", 0, "LABEL",
       "Take the rows of this system only. Output of nccl-tests does not name its system, so there this is its name; "
       "without it the name of the file is taken."},
      {"kind", 0, "KIND",
       "The collective that nccl-tests measured, if neither its output nor the name of the file says it."}};
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

void require_used_hints(const RunHints& hints, const std::vector<MeasuredRow>& rows) {
  if (!hints.system.empty()) {
    check_is_used("system", hints.system, rows, [&](const MeasuredRow& row) { return row.system == hints.system; });
  }
  if (hints.kind) {
    check_is_used("kind", std::string(collective_kind_name(*hints.kind)), rows,
                  [&](const MeasuredRow& row) { return row.kind == *hints.kind; });
  }
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
