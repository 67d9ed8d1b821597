#include "study/scenario/case_trees.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "models/compute/compute_model.h"
#include "plan/planner.h"
#include "study/scenario/key_editor.h"
#include "study/scenario/named_tree.h"

namespace shardsim {
namespace {

void erase(Tree& tree, std::string_view key) {
  std::erase_if(tree.fields, [key](const auto& field) { return field.first == key; });
}

// One of these says where a plan comes from.
constexpr const char* kPlanKeys[] = {"planner", "planners", "plan"};

using Keys = std::vector<std::string>;

// Keys that the top level and a case share.
Keys shared_keys() {
  return {"cluster",      "workload", "planner",     "planners", "plan",       "compute_model",
          "memory_model", "network",  "collectives", "overlap",  "iterations", "steady",
          "constraints",  "payload",  "jobs",        "load",     "software"};
}

Keys with(Keys keys, const Keys& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

void check_keys(const Tree& tree, const std::string& path, const Keys& known) {
  MapReader reader(tree, path);
  for (const std::string& key : known) reader.has(key);
  reader.finish();
}

// A planner that all cases replace is made by nobody, but no name is taken for one that is none.
void refuse_unknown_planner(const Tree& planner) {
  if (planner.kind != Tree::Kind::map) return;
  const Tree* const name = planner.find("name");
  if (name != nullptr && find_planner(name->scalar) == nullptr) make_planner(planner);  // says which there are
}

class CaseBuilder {
 public:
  CaseBuilder(const Tree& scenario, std::string folder, const Overrides& overrides, std::uint64_t seed,
              LoadedTrees& loaded)
      : scenario_(scenario),
        folder_(std::move(folder)),
        overrides_(overrides),
        seed_(seed),
        settings_(settings_of(overrides)),
        loaded_(loaded) {}

  // `only`: of the entries of `cases` that one alone; none: of all.
  CaseTrees build(std::optional<std::size_t> only = {}) {
    check_keys(scenario_, "",
               with(shared_keys(), {"schema", "title", "seed", "include", "cases", "cross_check", "sweep", "drift"}));
    refuse_several_plans(scenario_);
    refuse_jobs_beside(scenario_);
    prepare_top();
    const std::vector<Tree> items = case_items();
    check_settings(settings_, with(shared_keys(), {"title", "seed", "cross_check", "sweep", "drift"}), items.size());
    for (std::size_t i = only.value_or(0); i < (only ? *only + 1 : items.size()); ++i) {
      CaseTree tree = build_case(items[i], i);
      if (joins_another(tree)) continue;
      for (CaseTree& compared : expand_planners(std::move(tree))) {
        for (CaseTree& built : expand_repeats(std::move(compared), seed_)) add(std::move(built));
      }
    }
    for (const CaseTree& tree : replanned_) name_joined(trees_.cases, tree);
    if (!only && !items.empty()) keep_replaced(items);
    return std::move(trees_);
  }

 private:
  void add(CaseTree built);
  bool joins_another(const CaseTree& tree);
  void prepare_top();
  std::vector<Tree> case_items() const;
  CaseTree build_case(const Tree& item, std::size_t index);
  bool is_changed(const std::string& name) const;
  void replace_keys(Tree& keys, const Tree& item);
  void apply_set(Tree& keys, const Tree& item);
  void apply_arguments(CaseTree& result, std::size_t index);
  void apply_memory_model(Tree& keys) const;
  void apply_torchrec_only(Tree& keys) const;
  void count(const CaseTree& result);
  void keep_replaced(const std::vector<Tree>& items);

  const Tree& scenario_;
  std::string folder_;
  const Overrides& overrides_;
  std::uint64_t seed_;
  std::vector<Setting> settings_;
  LoadedTrees& loaded_;
  Tree top_;
  CaseTrees trees_;
  std::vector<CaseTree> replanned_;  // by --planners, as they were before each became several
};

// A case with jobs becomes a fabric of them.
void CaseBuilder::add(CaseTree built) {
  Fabric fabric{built.name, {}};
  const std::string prefix = scenario_.find("cases") == nullptr ? "" : built.name + "/";
  for (CaseTree& tree : expand_jobs(std::move(built), prefix)) {
    if (tree.job) fabric.jobs.push_back(trees_.cases.size());
    count(tree);
    trees_.cases.push_back(std::move(tree));
  }
  if (!fabric.jobs.empty()) trees_.fabrics.push_back(std::move(fabric));
}

// True when --planners leaves nothing between this case and an earlier one, which then stands for both.
bool CaseBuilder::joins_another(const CaseTree& tree) {
  if (overrides_.planners.empty() || !is_changed(tree.name)) return false;
  const auto same = std::ranges::find(replanned_, tree.keys, &CaseTree::keys);
  if (same == replanned_.end()) {
    replanned_.push_back(tree);
    return false;
  }
  for (CaseTree& known : trees_.cases) {
    if (known.compared && known.compared->group == same->name) known.compared->also.push_back(tree.name);
  }
  return true;
}

void CaseBuilder::prepare_top() {
  top_ = empty_map(scenario_.place);
  top_.asked = scenario_.asked;
  for (const auto& [key, name] : {std::pair{"memory_model", "paper"}, {"network", "fair_queues"}}) {
    assign_key(top_, key, named_map(name, scenario_.place));
  }
  assign_key(top_, "load", empty_map(scenario_.place));
  for (const auto& [key, value] : scenario_.fields) {
    if (is_one_of(shared_keys(), key)) assign_key(top_, key, located(key, value, folder_, loaded_));
  }
  if (const Tree* const planner = top_.find("planner")) refuse_unknown_planner(*planner);
}

// Without `cases` there is one, `main`; none where those of other files are taken.
std::vector<Tree> CaseBuilder::case_items() const {
  const Tree* const cases = scenario_.find("cases");
  if (cases == nullptr && scenario_.find("include") != nullptr) return {};
  if (cases == nullptr) return {named_map("main", scenario_.place)};
  note_form(*cases, {Form::Kind::list, {}, Bounds::from(1)});
  if (cases->kind != Tree::Kind::list || cases->items.empty()) {
    const bool list = cases->kind == Tree::Kind::list;
    throw input_error(cases->place, fmt::format("'cases' is {}", list ? "empty" : "no list"),
                      "Write one map per case, each with a dash in front, or leave it out for one case 'main'");
  }
  if (cases->items.size() > kMostCases) {
    throw input_error(cases->place, fmt::format("more than {} cases", kMostCases), "Split the scenario");
  }
  return cases->items;
}

// True when the command line changes this case; its --case may name a job in it.
bool CaseBuilder::is_changed(const std::string& name) const {
  const std::vector<std::string>& only = overrides_.only_cases;
  return only.empty() || scenario_.find("cases") == nullptr ||
         std::ranges::any_of(only, [&](const std::string& pattern) {
           return fits_pattern(name, pattern) || may_fit_after(name + "/", pattern);
         });
}

CaseTree CaseBuilder::build_case(const Tree& item, std::size_t index) {
  const std::string path = fmt::format("cases.{}", index);
  check_keys(item, path, with(case_keys(), {"name", "set"}));
  refuse_several_plans(item);
  refuse_jobs_beside(item);
  refuse_beside_planners(item);
  CaseTree result;
  result.name = MapReader(item, path).text("name", kCaseNameRule);
  result.place = item.place;
  result.keys = top_;
  if (item.asked) result.keys.asked = item.asked;
  replace_keys(result.keys, item);
  apply_set(result.keys, item);
  if (is_changed(result.name)) {
    apply_arguments(result, index);
    apply_memory_model(result.keys);
    apply_torchrec_only(result.keys);
  }
  refuse_jobs_beside(result.keys);
  return result;
}

void CaseBuilder::replace_keys(Tree& keys, const Tree& item) {
  for (const auto& [key, value] : item.fields) {
    if (key != "name" && key != "set") assign_key(keys, key, located(key, value, folder_, loaded_));
  }
}

void CaseBuilder::apply_set(Tree& keys, const Tree& item) {
  const Tree* const set = item.find("set");
  if (set == nullptr) return;
  note_form(*set, stated_map());
  if (set->kind != Tree::Kind::map) {
    throw input_error(set->place, fmt::format("'set' must be a map, but is {}", kind_name(set->kind)),
                      "Write {PATH: VALUE}, for example {cluster.nodes: 8}");
  }
  KeyEditor editor(keys, case_keys());
  for (const auto& [path, value] : set->fields) {
    note_form(value, {Form::Kind::anything});
    editor.edit(path, value, {folder_, loaded_});
  }
}

void CaseBuilder::apply_arguments(CaseTree& result, std::size_t index) {
  const std::string here;  // files of arguments are looked for in the current folder
  KeyEditor editor(result.keys, case_keys());
  for (const auto& [path, value] : settings_) {
    const auto [head, rest] = split_head(path);
    if (head == "title" || head == "seed" || head == "cross_check" || head == "sweep" || head == "drift") continue;
    if (head != "cases") {
      editor.edit(path, value, {here, loaded_});
      result.changed = result.changed || head == "cluster" || head == "workload";
      continue;
    }
    const auto in_case = case_path(rest);
    if (in_case->first != index) continue;
    if (in_case->second == "name") {
      result.name = scalar_text(value, "a name");
      result.name_place = value.place;
    } else {
      editor.edit(in_case->second, value, {here, loaded_});
      const std::string part = split_head(in_case->second).first;
      result.changed = result.changed || part == "cluster" || part == "workload";
    }
  }
}

// The parameters stay when the argument names the model that the case has already.
void CaseBuilder::apply_memory_model(Tree& keys) const {
  if (overrides_.memory_model.empty()) return;
  const Tree* const name = keys.find("memory_model")->find("name");
  if (name != nullptr && name->scalar == overrides_.memory_model) return;
  assign_key(keys, "memory_model", named_map(overrides_.memory_model, {"argument --memory-model", 0, 0}));
}

// As a constraint of every table, named or not.
void CaseBuilder::apply_torchrec_only(Tree& keys) const {
  if (!overrides_.torchrec_only) return;
  const Place place{"argument --torchrec-only", 0, 0};
  const Tree none = empty_map(place);
  if (keys.find("constraints") == nullptr) assign_key(keys, "constraints", none);
  Tree& constraints = *keys.find("constraints");
  if (constraints.kind != Tree::Kind::map) return;  // whoever reads it refuses it
  if (constraints.find("*") == nullptr) constraints.fields.emplace_back("*", none);
  for (auto& [name, constraint] : constraints.fields) {
    if (constraint.kind == Tree::Kind::map) assign_key(constraint, "torchrec_only", parse_yaml_value("true", place));
  }
}

void CaseBuilder::count(const CaseTree& result) {
  if (trees_.cases.size() >= kMostCases) {
    throw input_error(result.place, fmt::format("more than {} cases and jobs", kMostCases), "Split the scenario");
  }
  trees_.values += size_of(result.keys);
  if (trees_.values > kMostValues) {
    throw input_error(result.place, fmt::format("the cases hold more than {} values together", kMostValues),
                      "Split the scenario, or use smaller workloads");
  }
}

// Keys that the command line replaces besides are none of the file's business any more.
void CaseBuilder::keep_replaced(const std::vector<Tree>& items) {
  trees_.replaced.kind = Tree::Kind::map;
  for (const auto& field : scenario_.fields) {
    const std::string& key = field.first;
    const auto is_set = [&](const Setting& setting) { return split_head(setting.path).first == key; };
    const auto has_own = [&](const Tree& item) { return item.find(key) != nullptr; };
    const Tree* const at_top = top_.find(key);
    if (at_top == nullptr || !is_one_of(shared_keys(), key) || std::ranges::any_of(settings_, is_set)) continue;
    if (std::ranges::all_of(items, has_own)) trees_.replaced.fields.emplace_back(key, *at_top);
  }
}

}  // namespace

void refuse_several_plans(const Tree& tree) {
  const char* first = nullptr;
  for (const char* const key : kPlanKeys) {
    const Tree* const here = tree.find(key);
    if (here == nullptr) continue;
    if (first != nullptr) {
      throw input_error(here->place, fmt::format("'{}' beside '{}'", key, first),
                        "Keep one of the two: a plan is read from a file (plan), made by a planner (planner), or made "
                        "by several that are compared (planners)");
    }
    first = key;
  }
}

void assign_key(Tree& keys, const std::string& key, Tree value) {
  const bool planned = std::ranges::find(kPlanKeys, key) != std::end(kPlanKeys);
  for (const char* const other : kPlanKeys) {
    if (key == "jobs" || (planned && other != key)) erase(keys, other);
  }
  if (key == "jobs") erase(keys, "workload");
  if (key == "workload" || planned) erase(keys, "jobs");
  if (key == "planners") {
    for (const char* const single : {"published", "relative_to", "repeat"}) erase(keys, single);
  }
  if (Tree* const old = keys.find(key)) {
    *old = std::move(value);
  } else {
    keys.fields.emplace_back(key, std::move(value));
  }
}

std::vector<std::string> case_keys() {
  return with(shared_keys(), {"relative_to", "published", "repeat"});
}

CaseTrees case_trees(const Tree& scenario, const std::string& folder, const Overrides& overrides, std::uint64_t seed) {
  LoadedTrees loaded;
  return CaseBuilder(scenario, folder, overrides, seed, loaded).build();
}

CaseTrees case_trees_of(const Tree& scenario, const std::string& folder, const Overrides& overrides, std::uint64_t seed,
                        std::size_t entry, LoadedTrees& loaded) {
  return CaseBuilder(scenario, folder, overrides, seed, loaded).build(entry);
}

}  // namespace shardsim
