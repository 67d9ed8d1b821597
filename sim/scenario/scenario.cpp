#include "sim/scenario/scenario.h"

#include <fmt/core.h>

#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/map_reader.h"
#include "base/yaml.h"
#include "sim/scenario/case_trees.h"
#include "sim/scenario/read_case.h"
#include "sim/scenario/settings.h"
#include "sim/study/cross_check.h"

namespace shardsim {
namespace {

// Without the key the default holds; a key without a value is a slip.
void refuse_empty(const Tree& tree) {
  for (const char* const key : {"title", "seed", "cross_check"}) {
    const Tree* const stated = tree.find(key);
    if (stated == nullptr || stated->kind != Tree::Kind::null) continue;
    throw input_error(stated->place, fmt::format("'{}' has no value", key), "Write one, or leave the key out");
  }
}

// Estimates are compared over cases of one workload on one cluster.
void require_comparable(const std::vector<Case>& cases, const CrossCheckOptions& options) {
  std::map<std::pair<std::string, std::string>, std::size_t> count;
  for (const Case& item : cases) {
    if (!item.job && ++count[{item.workload.name, item.cluster.name}] >= kLeastChecked) return;
  }
  throw input_error(options.place,
                    fmt::format("'cross_check', but no {} cases of one workload on one cluster", kLeastChecked),
                    "Add cases, for example random ones: 'planner: {name: random}' with 'repeat: 50'");
}

}  // namespace

Scenario scenario_from_text(const std::string& text, const std::string& path, const Overrides& overrides) {
  const Tree tree = parse_yaml(text, path);
  MapReader(tree, "").choice("schema", {"shardsim.scenario/1"});
  refuse_empty(tree);
  const std::filesystem::path file(path);
  Scenario scenario;
  scenario.path = path;
  scenario.text = text;
  const Tree title = top_value(tree, "title", overrides);
  scenario.title = title.kind == Tree::Kind::null ? file.filename().string() : scalar_text(title, "a text");
  const Tree seed = top_value(tree, "seed", overrides);
  if (seed.kind != Tree::Kind::null) {
    scenario.seed = static_cast<std::uint64_t>(parse_count(scalar_text(seed, "a whole number"), seed.place));
  }
  const Tree cross_check = top_value(tree, "cross_check", overrides);
  for (const CaseTree& keys : case_trees(tree, file.parent_path().string(), overrides, scenario.seed)) {
    if (keys.again) {
      scenario.cases.push_back(read_again(keys, scenario.cases.back()));
      continue;
    }
    scenario.cases.push_back(read_case(keys));
    validate_names(scenario.cases.back());
  }
  check_case_names(scenario.cases);
  check_jobs(scenario.cases);
  check_baselines(scenario.cases);
  if (cross_check.kind != Tree::Kind::null) {
    scenario.cross_check = read_cross_check(cross_check);
    require_comparable(scenario.cases, *scenario.cross_check);
  }
  return scenario;
}

Scenario read_scenario(const std::string& path, const Overrides& overrides) {
  return scenario_from_text(read_file(path), path, overrides);
}

}  // namespace shardsim
