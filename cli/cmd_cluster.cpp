#include <fmt/format.h>

#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cli/arguments.h"
#include "cli/cluster_calibrate.h"
#include "cli/cluster_files.h"
#include "cli/cluster_text.h"
#include "cli/command.h"
#include "models/collective/fitted_overheads.h"
#include "sim/scenario/scenario.h"
#include "topology/export/export.h"
#include "topology/import/node_inventory.h"
#include "topology/spec/cluster_spec.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostDump = std::size_t{64} << 20;

Cluster named_cluster(const std::string& name, const Arguments& given) {
  Tree tree = load_named(name, "clusters", "", {"argument " + name});
  if (const auto nodes = given.value("nodes")) {
    parse_count(*nodes, Arguments::place("nodes"));
    set_path(tree, "nodes", parse_yaml_value(*nodes, Arguments::place("nodes")));
  }
  return Cluster(with_fits(read_cluster(tree)));
}

int show(const std::vector<std::string>& arguments) {
  const Arguments given(arguments, {{"nodes", 0, true, false}}, 1, 1, "shardsim cluster show NAME|FILE [--nodes N]");
  const std::string text = cluster_text(named_cluster(given.positional()[0], given));
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

ImportOptions import_options(const Arguments& given, const std::string& file) {
  ImportOptions options;
  const std::string output = given.value("output").value_or("-");
  options.name = cluster_name_of(output == "-" ? file : output);
  options.gpu_model = given.value("gpu").value_or("");
  if (const auto rate = given.value("nic")) options.nic_rate = parse_bandwidth(*rate, Arguments::place("nic"));
  if (const auto text = given.value("pcie")) {
    const std::int64_t generation = parse_count(*text, Arguments::place("pcie"));
    if (generation < 3 || generation > 6) {
      throw input_error(Arguments::place("pcie"), fmt::format("PCIe generation {}", generation), "Write 3, 4, 5 or 6");
    }
    options.pcie_generation = static_cast<int>(generation);
  }
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

int import_file(const std::vector<std::string>& arguments) {
  const Arguments given(arguments,
                        {{"output", 'o', true, false},
                         {"gpu", 0, true, false},
                         {"pcie", 0, true, false},
                         {"nic", 0, true, false},
                         {"force", 0, false, false}},
                        1, 1, "shardsim cluster import FILE -o cluster.yaml [--gpu MODEL] [--pcie GEN] [--nic RATE]");
  const ClusterSpec spec = imported(given.positional()[0], import_options(given, given.positional()[0]));
  const std::string text = write_cluster(spec);
  prove(text, spec);
  deliver_file(text, given, kClusterMark);
  for (const std::string& note : spec.open) std::fputs(("note: " + note + "\n").c_str(), stderr);
  return 0;
}

int export_platform(const std::vector<std::string>& arguments) {
  const Arguments given(arguments,
                        {{"simgrid", 0, false, false},
                         {"nodes", 0, true, false},
                         {"output", 'o', true, false},
                         {"force", 0, false, false}},
                        1, 1, "shardsim cluster export --simgrid NAME|FILE [--nodes N] [-o FILE]");
  if (!given.has("simgrid")) {
    throw input_error({"arguments"}, "the format to export is missing", "Write shardsim cluster export --simgrid NAME");
  }
  deliver_file(write_simgrid_xml(named_cluster(given.positional()[0], given)), given, "<platform");
  return 0;
}

}  // namespace

int cluster_command(const std::vector<std::string>& arguments, const Terminal& terminal) {
  const std::string what = arguments.empty() ? "" : arguments.front();
  const std::vector<std::string> rest(arguments.empty() ? arguments.end() : arguments.begin() + 1, arguments.end());
  if (what == "show") return show(rest);
  if (what == "import") return import_file(rest);
  if (what == "export") return export_platform(rest);
  if (what == "calibrate") return cluster_calibrate(rest, terminal);
  throw input_error({"argument " + (what.empty() ? "cluster" : what)}, "which of the cluster commands is not said",
                    known_names_hint(what, {"show", "import", "export", "calibrate"}));
}

}  // namespace shardsim
