#include "python/core/request.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/tree/json.h"
#include "base/tree/yaml.h"
#include "plan/plan_file.h"
#include "plan/sharding_groups.h"

namespace shardsim::python {
namespace {

constexpr std::size_t kShown = 12;

}  // namespace

const Tree& ScenarioText::tree() const {
  std::call_once(parsed_, [this] { tree_ = parse_yaml(text, path); });
  return tree_;
}

ChosenCase chosen_case(const Request& request, const std::string& name) {
  ChosenCase chosen{request.scenario(), 0};
  const std::vector<Case>& cases = chosen.scenario.cases;
  std::vector<std::string> names;
  for (const Case& item : cases) names.push_back(item.name);
  if (name.empty()) {
    if (cases.size() == 1) return chosen;
    throw input_error({request.path()}, "the scenario has several cases",
                      "Name one as case=...: " + first_names(names, kShown));
  }
  const auto found = std::ranges::find(cases, name, &Case::name);
  if (found == cases.end())
    throw input_error({"case"}, "the scenario has no case " + excerpt(name), "Known: " + first_names(names, kShown));
  chosen.index = static_cast<std::size_t>(found - cases.begin());
  return chosen;
}

Plan given_plan(const std::string& plan_json, const Case& item, const Cluster& cluster) {
  const std::optional<GroupedWorld> groups = GroupedWorld::of(item.workload, cluster);
  Plan plan = checked_plan(parse_json(plan_json, "plan"), item.workload, groups ? groups->cluster() : cluster);
  return groups ? groups->of_world(plan) : plan;
}

}  // namespace shardsim::python
