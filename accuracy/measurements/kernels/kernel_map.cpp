#include "accuracy/measurements/kernels/kernel_map.h"

#include "base/error.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"

namespace shardsim {
namespace {

constexpr const char* kKernelMapSchema = "shardsim.kernel_map/1";

KernelMap::Rule rule_of(const Tree& tree, bool names_gpu) {
  MapReader reader(tree, "");
  KernelMap::Rule rule;
  rule.source = reader.text("source", "");
  rule.op = reader.text("op", "");
  rule.software = reader.text("software", "");
  rule.gpu_cell = reader.text("gpu_cell", "");
  rule.quality = reader.text("quality", "");
  rule.reason = reader.text("reason");
  if (names_gpu) rule.gpu = reader.text("gpu");
  reader.finish();
  if (rule.source.empty() && rule.op.empty() && rule.software.empty() && rule.gpu_cell.empty() && rule.quality.empty())
    throw input_error(tree.place, "the rule would cover every row", "Name a source, op, software, gpu_cell or quality");
  return rule;
}

}  // namespace

bool KernelMap::Rule::covers(const KernelRow& row) const {
  const auto holds = [](const std::string& cell, const std::string& text) {
    return text.empty() || cell.find(text) != std::string::npos;
  };
  return holds(row.source, source) && holds(row.op, op) && holds(row.software, software) &&
         holds(row.sizes.gpu, gpu_cell) && holds(row.quality, quality);
}

KernelMap kernel_map_from_tree(const Tree& tree, const std::string& path) {
  KernelMap map;
  map.path = path;
  MapReader reader(tree, "");
  reader.choice("schema", {kKernelMapSchema});
  if (reader.has("gpus"))
    for (const Tree& entry : reader.list("gpus")) map.gpus.push_back(rule_of(entry, true));
  if (reader.has("out_of_model"))
    for (const Tree& entry : reader.list("out_of_model")) map.out_of_model.push_back(rule_of(entry, false));
  reader.finish();
  return map;
}

KernelMap read_kernel_map(const std::string& path) {
  return kernel_map_from_tree(read_yaml_file(path), path);
}

}  // namespace shardsim
