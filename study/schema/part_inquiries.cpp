#include <fmt/format.h>

#include "base/files.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "models/compute/compute_model.h"
#include "models/load/load_options.h"
#include "models/software/software.h"
#include "plan/constraints.h"
#include "plan/memory_model.h"
#include "plan/planner.h"
#include "sim/engine/network.h"
#include "study/scenario/drift_options.h"
#include "study/scenario/read_case.h"
#include "study/schema/inquiries.h"

namespace shardsim {
namespace {

Tree specimen(const std::string& yaml) {
  return parse_yaml_value(yaml, {"specimen", 0, 0});
}

// One specimen per row of an interface's table.
template <typename Entry>
std::vector<Tree> one_of_each(std::span<const Entry> table) {
  std::vector<Tree> trees;
  for (const Entry& entry : table) trees.push_back(named_map(std::string(entry.name)));
  return trees;
}

std::string shipped_file(const std::string& path) {
  return (data_folder() / "scenarios" / path).string();
}

Inquiry planner_inquiry() {
  return {.read = [](const Tree& tree) { make_planner(tree); },
          .specimens = one_of_each(planners()),
          .values = {{"policy",
                      {shipped_file("policies/autoshard_tasks.h5"),
                       fmt::format("{{file: '{}'}}", shipped_file("policies/autoshard_tasks.h5"))}},
                     {"tables", {"{'*': greedy}", "{'*': {name: greedy}}"}},
                     {"pooled", {"torchrec", "{name: greedy}"}},
                     {"constraints", {"{'*': {}}"}},
                     {"costs", {"closed_form", "{file: x}"}},
                     {"start", {"x"}}}};
}

Inquiry software_inquiry() {
  const SoftwareTable shipped = shipped_software();
  Inquiry inquiry{
      .read = [shipped](const Tree& tree) { software_from_tree(tree, shipped); }, .specimens = {}, .values = {}};
  inquiry.specimens.push_back(named_map(shipped.names().front()));
  return inquiry;
}

}  // namespace

std::vector<Inquiry> option_inquiries() {
  std::vector<Inquiry> all{planner_inquiry(), software_inquiry()};
  all.push_back({.read = [](const Tree& tree) { make_compute_model(tree); },
                 .specimens = one_of_each(compute_models()),
                 .values = {{"file", {shipped_file("gpus/kernels.yaml"), shipped_file("measurements/kernels.yaml")}}}});
  all.push_back({.read = [](const Tree& tree) { make_memory_model(tree); },
                 .specimens = one_of_each(memory_models()),
                 .values = {}});
  all.push_back(
      {.read = [](const Tree& tree) { make_network(tree); }, .specimens = one_of_each(networks()), .values = {}});
  all.push_back({.read =
                     [](const Tree& tree) {
                       read_load_options({tree, "load"}, {});
                     },
                 .specimens = {specimen("{}"), specimen("{batches: drawn}")},
                 .values = {}});
  all.push_back({.read = [](const Tree& tree) { read_drift(tree); },
                 .specimens = {specimen("{days: 2, growth: 1 %/day}"), specimen("{days: 2, planners: [greedy]}")},
                 .values = {{"planners", {"[greedy]", "[{name: greedy}]"}}}});
  all.push_back(
      {.read = [](const Tree& tree) { read_cross_check(tree); }, .specimens = {specimen("{}")}, .values = {}});
  all.push_back({.read = [](const Tree& tree) { read_constraints(tree); },
                 .specimens = {specimen("{'*': {}}")},
                 .values = {{"sharding_types", {"[row_wise]"}}, {"compute_kernels", {"[fused_uvm_caching]"}}}});
  return all;
}

}  // namespace shardsim
