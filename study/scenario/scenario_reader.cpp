#include "study/scenario/scenario_reader.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/read_files.h"
#include "base/tree/yaml.h"
#include "models/workload/workload_limits.h"
#include "study/scenario/read_case.h"

namespace shardsim {
namespace {

// Keys that concern more than one case: those of the scenario itself, edits of cases by their number, and what makes
// several cases of one.
constexpr const char* kSharedHeads[] = {"title", "seed", "cross_check", "sweep", "drift", "cases", "jobs", "planners"};

bool is_of_case_alone(const std::string& path) {
  return std::ranges::find(kSharedHeads, split_head(path).first) == std::end(kSharedHeads);
}

std::size_t weight_of_tables(const Case& item) {
  std::size_t weight = 0;
  for (const Table& table : item.workload.tables) weight += weight_of(table);
  return weight;
}

}  // namespace

ScenarioReader::ScenarioReader(std::string path, Overrides given) : path_(std::move(path)), given_(std::move(given)) {
  read();
}

void ScenarioReader::read() {
  is_read_ = false;  // where what is there now is wrong, what was read before stays
  std::string text = read_file(path_);
  Tree tree = parse_yaml(text, path_);
  whole_ = scenario_from_tree(tree, text, path_, given_);
  text_ = std::move(text);
  tree_ = std::move(tree);
  folder_ = std::filesystem::path(path_).parent_path().string();
  bases_.clear();
  loaded_ = {};
  is_read_ = true;
}

bool ScenarioReader::renew() {
  const auto is_unchanged = [](const auto& file) { return was_read(file.first); };
  if (is_read_ && was_read(path_) && std::ranges::all_of(loaded_.files, is_unchanged)) return false;
  read();
  return true;
}

Overrides ScenarioReader::given_for(const std::string& name) const {
  Overrides changes = given_;
  changes.only_cases = {name};
  return changes;
}

// The position of the entry that is this case and no other one.
std::optional<std::size_t> ScenarioReader::entry_of(const std::string& name) const {
  if (tree_.find("include") != nullptr || !given_.planners.empty()) return std::nullopt;
  const Tree* const cases = tree_.find("cases");
  if (cases == nullptr) return name == "main" ? std::optional<std::size_t>(0) : std::nullopt;
  const auto has_name = [&](const Tree& item) {
    const Tree* const stated = item.find("name");
    return stated != nullptr && stated->scalar == name;
  };
  const auto found = std::ranges::find_if(cases->items, has_name);
  if (found == cases->items.end()) return std::nullopt;
  return static_cast<std::size_t>(found - cases->items.begin());
}

ScenarioReader::Base ScenarioReader::made_base(const std::string& name) {
  const Overrides changes = given_for(name);
  Base base{scenario_from_tree(tree_, text_, path_, changes), entry_of(name)};
  // A change of a case beside jobs may change those, too.
  const bool compared = base.scenario.cross_check || !base.scenario.fabrics.empty();
  if (compared || !std::ranges::all_of(changes.set, is_of_case_alone, &decltype(changes.set)::value_type::first))
    base.entry.reset();
  for (const Case& item : base.scenario.cases)
    if (item.name != name) base.weight_of_others += weight_of_tables(item);
  const auto is_case = [&](const Case& item) { return item.name == name; };
  base.scenario.keep(is_case);
  if (!base.entry) return base;
  const CaseTrees alone = case_trees_of(tree_, folder_, changes, base.scenario.seed, *base.entry, loaded_);
  if (alone.cases.size() != 1 || alone.cases.front().name != name) base.entry.reset();
  base.values_of_others = case_trees(tree_, folder_, changes, base.scenario.seed).values - alone.values;
  return base;
}

const ScenarioReader::Base& ScenarioReader::base_of(const std::string& name) {
  const auto known = bases_.find(name);
  return known != bases_.end() ? known->second : bases_.emplace(name, made_base(name)).first->second;
}

const Scenario& ScenarioReader::base(const std::string& name) {
  return base_of(name).scenario;
}

// Nothing where it has to be read with the others: where something is wrong, the first message of all is told.
std::optional<Scenario> ScenarioReader::read_alone(const Base& base, const Overrides& changes) {
  const auto is_alone = [](const auto& setting) { return is_of_case_alone(setting.first); };
  if (!base.entry || !std::ranges::all_of(changes.set, is_alone)) return std::nullopt;
  try {
    Scenario scenario = base.scenario;
    CaseTrees trees = case_trees_of(tree_, folder_, changes, scenario.seed, *base.entry, loaded_);
    if (trees.cases.size() != 1 || !trees.fabrics.empty()) return std::nullopt;
    Case item = read_case(trees.cases.front(), scenario.seed);
    validate_names(item);
    const bool large = base.values_of_others + trees.values > kMostValues ||
                       base.weight_of_others + weight_of_tables(item) > kMostTableWeight;
    if (large || item.name != scenario.cases.front().name) return std::nullopt;
    scenario.cases.front() = std::move(item);
    return scenario;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Scenario ScenarioReader::with_case(const std::string& name, const Overrides& changes) {
  if (std::optional<Scenario> alone = read_alone(base_of(name), changes)) return std::move(*alone);
  Scenario scenario = scenario_from_tree(tree_, text_, path_, changes);
  scenario.keep([&](const Case& item) { return item.name == name; });
  return scenario;
}

}  // namespace shardsim
