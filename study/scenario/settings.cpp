#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/tree/tree_editor.h"
#include "base/tree/yaml.h"
#include "study/scenario/case_trees.h"

namespace shardsim {

std::vector<Setting> settings_of(const Overrides& overrides) {
  std::vector<Setting> settings;
  for (const auto& [path, text] : overrides.set) {
    const Place place{fmt::format("argument --set {}", path), 0, 0};
    settings.push_back({path, parse_yaml_value(text, place)});
  }
  if (overrides.seed) {
    settings.push_back({"seed", text_tree(std::to_string(*overrides.seed), {"argument --seed", 0, 0})});
  }
  if (!overrides.planners.empty())
    settings.push_back({"planners", text_list(overrides.planners, {"argument --planners", 0, 0})});
  return settings;
}

std::pair<std::string, std::string> split_head(const std::string& path) {
  const std::size_t dot = path.find('.');
  std::string head = path.substr(0, dot);
  std::ranges::replace(head, '-', '_');
  return {head, dot == std::string::npos ? "" : path.substr(dot + 1)};
}

std::optional<std::pair<std::size_t, std::string>> case_path(const std::string& path) {
  const auto [number, rest] = split_head(path);
  const auto index = whole_number<std::size_t>(number);
  if (!index || rest.empty()) return std::nullopt;
  return std::pair{*index, rest};
}

void check_settings(const std::vector<Setting>& settings, const std::vector<std::string>& keys, std::size_t cases) {
  std::vector<std::string> known = keys;
  known.emplace_back("cases");
  for (const auto& [path, value] : settings) {
    const auto [head, rest] = split_head(path);
    if (head == "relative_to" || head == "published" || head == "repeat") {
      throw input_error(value.place, fmt::format("'{}' belongs to a case", head),
                        fmt::format("Write cases.0.{}, with the number of the case", head));
    }
    if (std::ranges::find(known, head) == known.end()) {
      throw input_error(value.place, fmt::format("{} is no key of a scenario", excerpt(head)),
                        known_names_hint(head, known));
    }
    const auto in_case = head == "cases" ? case_path(rest) : std::nullopt;
    if (head == "cases" && !(in_case && in_case->first < cases)) {
      throw input_error(value.place, fmt::format("path {} does not name a key of a case", excerpt(path)),
                        cases == 0 ? "The file includes its cases: change the file that has them"
                                   : fmt::format("Write cases.NUMBER.KEY; cases are numbered 0 to {}", cases - 1));
    }
  }
}

void keep_cases(Scenario& scenario, const std::vector<std::size_t>& kept) {
  std::set<std::size_t> positions(kept.begin(), kept.end());
  for (const Fabric& fabric : scenario.fabrics) {
    const bool whole = std::ranges::any_of(fabric.jobs, [&](std::size_t job) { return positions.contains(job); });
    if (whole) positions.insert(fabric.jobs.begin(), fabric.jobs.end());
  }
  std::size_t position = 0;
  scenario.keep([&](const Case&) { return positions.contains(position++); });
}

Tree top_value(const Tree& scenario, const std::string& key, const Overrides& overrides) {
  const Tree* const stated = scenario.find(key);
  Tree result = stated == nullptr ? Tree{} : *stated;
  for (const auto& [path, value] : settings_of(overrides)) {
    const auto [head, rest] = split_head(path);
    if (head != key) continue;
    if (value.kind == Tree::Kind::null) {
      throw input_error(value.place, fmt::format("'{}' has no value", path), "Write one after '='");
    }
    if (rest.empty()) {
      result = value;
    } else {
      set_path(result, rest, value);
    }
  }
  return result;
}

}  // namespace shardsim
