#include "cli/cluster_files.h"

#include <algorithm>
#include <cstdio>

#include "base/files.h"
#include "base/yaml.h"
#include "topology/graph/cluster.h"

namespace shardsim {
namespace {

// Readers meet the sources in the order of the file, whoever changes a spec adds them at the end.
ClusterSpec with_sorted_sources(ClusterSpec spec) {
  std::ranges::sort(spec.sources, {}, &SourcedValue::path);
  return spec;
}

}  // namespace

void deliver_file(const std::string& text, const Arguments& given, const std::string& mark) {
  const std::string path = given.value("output").value_or("-");
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  const bool exists = is_there(path);
  const bool is_ours = exists && is_file(path) && read_file(path).find(mark) != std::string::npos;
  if (exists && !is_ours && !given.has("force")) {
    throw input_error({path}, "the file exists and is of another kind", "Choose another name, or add --force");
  }
  write_file(path, text);
}

void prove(const std::string& text, const ClusterSpec& spec) {
  ClusterSpec again = read_cluster(parse_yaml(text, spec.name + ".yaml"));
  if (!(with_sorted_sources(again) == with_sorted_sources(spec)))
    throw run_error("the cluster written is not the cluster read", "Please report it with the input");
  if (!again.nics) again.nodes = 1;
  const Cluster cluster(again);
}

}  // namespace shardsim
