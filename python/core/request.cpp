#include "python/core/request.h"

#include <algorithm>
#include <optional>

#include "base/files.h"
#include "base/read_files.h"
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

struct Request::Reading {
  std::mutex mutex;
  std::shared_ptr<const Scenario> scenario;
  std::filesystem::path data;                // where shipped names were looked for
  std::vector<std::filesystem::path> files;  // that it was read from

  bool holds() const { return scenario && data == data_folder() && std::ranges::all_of(files, was_read); }
};

Request::Request(std::shared_ptr<const ScenarioText> source, Overrides changes)
    : source_(std::move(source)), changes_(std::move(changes)), reading_(std::make_shared<Reading>()) {}

std::shared_ptr<const Scenario> Request::scenario() const {
  {
    const std::lock_guard lock(reading_->mutex);
    if (reading_->holds()) return reading_->scenario;
  }
  const ReadsHere reads;
  auto scenario = std::make_shared<const Scenario>(scenario_from_tree(source_->tree(), text(), path(), changes_));
  const std::lock_guard lock(reading_->mutex);
  reading_->scenario = scenario;
  reading_->data = data_folder();
  reading_->files = reads.paths();
  return scenario;
}

ChosenCase chosen_case(const Request& request, const std::string& name) {
  ChosenCase chosen{request.scenario(), 0};
  const std::vector<Case>& cases = chosen.scenario->cases;
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
