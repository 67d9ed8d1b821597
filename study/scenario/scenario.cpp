#include "study/scenario/scenario.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/case_name.h"
#include "base/files.h"
#include "base/text.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "models/workload/workload_limits.h"
#include "study/scenario/case_trees.h"
#include "study/scenario/drift_options.h"
#include "study/scenario/included_files.h"
#include "study/scenario/read_case.h"

namespace shardsim {
namespace {

// Without the key the default holds; a key without a value is a slip.
void refuse_empty(const Tree& tree) {
  for (const char* const key : {"title", "seed", "cross_check", "sweep", "drift"}) {
    const Tree* const stated = tree.find(key);
    if (stated == nullptr || stated->kind != Tree::Kind::null) continue;
    throw input_error(stated->place, fmt::format("'{}' has no value", key), "Write one, or leave the key out");
  }
}

// The key `drift`. Files that it names in this scenario are relative to it, as those of planners are.
Tree stated_drift(const Tree& top, const std::string& path, const Overrides& overrides) {
  return located_drift(top_value(top, "drift", overrides), path);
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

// An estimate knows expected batches alone, and effects are taken away from such.
void refuse_drawn(const std::vector<Case>& cases, const CrossCheckOptions& options) {
  const auto drawn = [](const Case& item) { return item.load.drawn(); };
  const auto first = std::ranges::find_if(cases, drawn);
  if (first == cases.end()) return;
  throw input_error(options.place,
                    fmt::format("'cross_check' beside case {}, whose batches are drawn", excerpt(first->name)),
                    "Say 'load: {batches: expected}' there, or leave 'cross_check' out");
}

std::string noun_of(const Case& item) {
  return item.job ? "job" : "case";
}

bool is_name_part(const std::string& part) {
  const bool good = std::ranges::all_of(part, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  });
  return good && !part.empty() && part.size() <= 128 && part != "." && part != "..";
}

// True for the parts of a case's own group of timeline.h5 and of its folder of traces.
bool is_part_of_result(const std::string& part) {
  static const std::set<std::string> kGroups{"summary", "rank",         "spans", "op",      "stream",
                                             "group",   "group_member", "flow",  "measured"};
  return kGroups.contains(part) || part.ends_with(".json");
}

// Refuses a case inside another one where that one's results lie.
void check_outer_cases(const Case& item, const std::set<std::string>& names) {
  for (std::size_t slash = item.name.find('/'); slash != std::string::npos; slash = item.name.find('/', slash + 1)) {
    const std::string outer = item.name.substr(0, slash), inside = split(item.name.substr(slash + 1), '/').front();
    if (!names.contains(outer) || !is_part_of_result(inside)) continue;
    throw input_error(
        item.place,
        fmt::format("the results of case {} and case {} would have the same place", excerpt(item.name), excerpt(outer)),
        fmt::format("Names of cases become folders: write another word than '{}'", inside));
  }
}

// Returns the place where the case got its name: a name from the command line is not the file's fault.
const Place& named_at(const Case& item) {
  return item.name_place.source.empty() ? item.place : item.name_place;
}

// Refuses names that cannot be folders and a name twice.
void check_case_names(const std::vector<Case>& cases) {
  std::set<std::string> names;
  std::map<std::string, const Case*> first;
  for (const Case& item : cases) {
    const std::string fault = case_name_fault(item.name);
    if (!fault.empty() || !std::ranges::all_of(split(item.name, '/'), is_name_part)) {
      throw input_error(named_at(item),
                        fmt::format("{} is no name of a {}{}", excerpt(item.name), noun_of(item),
                                    fault.empty() ? "" : ": it " + fault),
                        "At most 16 parts of a-z, 0-9, '_', '.' and '-' joined by '/', 256 bytes in all; a part is "
                        "never '.' or '..'");
    }
    if (item.name == "all") {
      throw input_error(named_at(item), "a case is named 'all'", "Choose another name: --trace all means every case");
    }
    names.insert(item.name);
    const auto [known, added] = first.try_emplace(item.name, &item);
    if (added) continue;
    const bool by_argument = item.name_place.source.empty() && !known->second->name_place.source.empty();
    throw input_error(by_argument ? known->second->name_place : named_at(item),
                      "two cases are named " + excerpt(item.name), "Give every case its own name");
  }
  for (const Case& item : cases) check_outer_cases(item, names);
}

// Refuses jobs of one fabric that share a node.
void check_nodes(const Fabric& fabric, const std::vector<Case>& cases) {
  std::map<int, const Case*> owners;  // by node
  for (const std::size_t job : fabric.jobs) {
    const Case& item = cases[job];
    for (const int node : item.job->nodes) {
      const auto entry = owners.try_emplace(node, &item).first;
      if (entry->second == &item) continue;
      throw input_error(item.job->nodes_place,
                        fmt::format("node {} already belongs to job {}", node, excerpt(entry->second->name)),
                        "Give each job nodes of its own");
    }
  }
}

// Refuses `relative_to` that names no other case.
void check_baselines(const std::vector<Case>& cases) {
  std::set<std::string> names;
  for (const Case& item : cases) {
    names.insert(item.name);
    if (!item.compared) continue;  // what --planners left of a case may be named still, and is not compared with
    names.insert(item.compared->group);
    names.insert(item.compared->also.begin(), item.compared->also.end());
  }
  for (const Case& item : cases) {
    const auto gain = std::ranges::find_if(item.published, [](const Published& published) {
      return published.quantity == "throughput_gain" || published.quantity == "memory_saved";
    });
    if (item.relative_to.empty()) {
      if (gain == item.published.end()) continue;
      throw input_error(item.place,
                        fmt::format("case {} has a published {}, but does not say over which case", excerpt(item.name),
                                    gain->quantity),
                        "Write 'relative_to: CASE'");
    }
    if (item.relative_to == item.name) {
      throw input_error(item.place, fmt::format("case {} is relative to itself", excerpt(item.name)),
                        "Name another case in 'relative_to'");
    }
    if (!names.contains(item.relative_to)) {
      throw input_error(
          item.place,
          fmt::format("case {} is relative to unknown case {}", excerpt(item.name), excerpt(item.relative_to)),
          known_names_hint(item.relative_to, {names.begin(), names.end()}));
    }
  }
}

// Every case has its own tables. Errors: those of all cases so far take too much.
void refuse_weight(std::size_t weight, const Place& place, std::size_t cases) {
  if (weight <= kMostTableWeight) return;
  throw input_error(
      place, fmt::format("the tables, features and knots of the first {} cases come to {} numbers", cases, weight),
      fmt::format("Run fewer cases of so many tables: at most {} numbers", kMostTableWeight));
}

// Returns the number that `copies` says, and 1 where it says no number: whoever reads the table says so.
std::size_t stated_copies(const Tree& table) {
  const Tree* const copies = table.find("copies");
  if (copies == nullptr || copies->kind != Tree::Kind::scalar) return 1;
  return std::min(whole_number<std::size_t>(copies->scalar).value_or(1), kMostTableWeight);
}

// The least that the tables of a case weigh. A line of a file may stand for 100,000 tables, so that this is asked
// before any of them is made.
std::size_t least_weight(const CaseTree& tree) {
  const Tree* const workload = tree.keys.find("workload");
  const Tree* const tables = workload == nullptr ? nullptr : workload->find("tables");
  std::size_t weight = 0;
  if (tables == nullptr) return weight;
  for (const Tree& table : tables->items) {
    const Tree* const features = table.find("features");
    weight += stated_copies(table) * weight_of_features(features == nullptr ? 1 : features->items.size());
  }
  return weight;
}

// A case that is another one again has the tables of that. The reader of a single case says what is too much for it.
void refuse_weights(const std::vector<CaseTree>& trees) {
  std::size_t weight = 0, last = 0;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    if (i > 0) refuse_weight(weight, trees[i - 1].place, i);
    if (!trees[i].again) last = least_weight(trees[i]);
    if (last <= kMostTableWeight) weight += last;
  }
}

void add_weight(std::size_t& weight, const Case& item, std::size_t cases) {
  for (const Table& table : item.workload.tables) weight += weight_of(table);
  refuse_weight(weight, item.place, cases);
}

bool is_same_place(const Tree* a, const Tree* b) {
  return a != nullptr && b != nullptr && a->place == b->place;
}

// True when both state the same workload at the same place of the same file. A schema wants to know of every value what
// its reader asks.
bool has_workload_of(const CaseTree& tree, const CaseTree& before) {
  const Tree* const workload = tree.keys.find("workload");
  const Tree* const known = before.keys.find("workload");
  return is_same_place(workload, known) && !workload->asked && *workload == *known &&
         is_same_place(workload->find("tables"), known->find("tables"));
}

// `last`: the case before, of the tree `before`. A line of a file may stand for thousands of tables, which are read
// once for all cases in a row that have them.
Case read_case_after(const CaseTree& tree, std::uint64_t seed, const CaseTree& before, const Case& last) {
  if (!has_workload_of(tree, before)) return read_case(tree, seed);
  return read_case(tree, seed, read_case_cluster(tree), last.workload);
}

std::vector<Case> read_cases(const std::vector<CaseTree>& trees, std::uint64_t seed) {
  refuse_weights(trees);
  std::vector<Case> cases;
  std::size_t weight = 0;
  const CaseTree* before = nullptr;  // with all its keys
  for (const CaseTree& tree : trees) {
    if (!cases.empty()) add_weight(weight, cases.back(), cases.size());
    if (tree.again) {
      cases.push_back(read_again(tree, cases.back()));
      if (tree.compared) validate_planner(cases.back());
      continue;
    }
    cases.push_back(before == nullptr ? read_case(tree, seed) : read_case_after(tree, seed, *before, cases.back()));
    validate_names(cases.back());
    before = &tree;
  }
  return cases;
}

std::uint64_t seed_of(const Tree& tree, const Overrides& overrides) {
  const Tree seed = top_value(tree, "seed", overrides);
  if (seed.kind == Tree::Kind::null) return 1;
  return static_cast<std::uint64_t>(count_leaf()(seed));
}

// One run has one seed.
void require_same_seed(const IncludedFile& file, const Overrides& overrides, const Scenario& scenario) {
  const std::uint64_t seed = seed_of(file.tree, overrides);
  if (seed == scenario.seed) return;
  const Tree* const stated = file.tree.find("seed");
  throw input_error(stated == nullptr ? file.tree.place : stated->place,
                    fmt::format("the seed is {} here and {} in {}, which includes this file", seed, scenario.seed,
                                excerpt(scenario.path)),
                    "Write the same seed in both, or give --seed, which holds for all");
}

// The cases of the included files, in their order, each as its own file has it, then those of the file itself.
void add_cases_of(const Tree& tree, const std::string& path, const Overrides& overrides, IncludeChain& chain,
                  Scenario& scenario) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  refuse_idle_keys_beside_include(tree);
  const Overrides inner = overrides_of_included(overrides);
  for (const IncludedFile& file : chain.read(tree, folder)) {
    refuse_empty(file.tree);
    require_same_seed(file, inner, scenario);
    scenario.text += fmt::format("\n--- # {}\n{}", file.path, file.text);
    chain.enter(file);
    add_cases_of(file.tree, file.path, inner, chain, scenario);
    chain.leave();
  }
  CaseTrees trees = case_trees(tree, folder, overrides, scenario.seed);
  const std::size_t before = scenario.cases.size();
  if (before + trees.cases.size() > kMostCases) {
    throw input_error(tree.place, fmt::format("more than {} cases and jobs with those of included files", kMostCases),
                      "Include fewer files");
  }
  for (Case& item : read_cases(trees.cases, scenario.seed)) scenario.cases.push_back(std::move(item));
  check_replaced(trees.replaced);
  for (Fabric& fabric : trees.fabrics) {
    for (std::size_t& job : fabric.jobs) job += before;
    scenario.fabrics.push_back(std::move(fabric));
  }
}

}  // namespace

std::int64_t batch_of_all(const Case& item) {
  const auto nodes = item.job ? static_cast<std::int64_t>(item.job->nodes.size()) : item.cluster.nodes;
  return item.workload.batch_per_gpu * nodes * item.cluster.gpu.count;
}

Scenario scenario_from_text(const std::string& text, const std::string& path, const Overrides& overrides) {
  return scenario_from_tree(parse_yaml(text, path), text, path, overrides);
}

Scenario scenario_from_tree(const Tree& tree, const std::string& text, const std::string& path,
                            const Overrides& overrides) {
  MapReader(tree, "").choice("schema", {"shardsim.scenario/1"});
  refuse_empty(tree);
  Scenario scenario;
  scenario.path = path;
  scenario.text = text;
  const Tree title = top_value(tree, "title", overrides);
  scenario.title =
      title.kind == Tree::Kind::null ? std::filesystem::path(path).filename().string() : scalar_text(title, "a text");
  scenario.seed = seed_of(tree, overrides);
  IncludeChain chain(path);
  add_cases_of(tree, path, overrides, chain, scenario);
  check_case_names(scenario.cases);
  for (const Fabric& fabric : scenario.fabrics) check_nodes(fabric, scenario.cases);
  check_baselines(scenario.cases);
  const Tree cross_check = top_value(tree, "cross_check", overrides);
  if (cross_check.kind != Tree::Kind::null) {
    scenario.cross_check = read_cross_check(cross_check);
    require_comparable(scenario.cases, *scenario.cross_check);
    refuse_drawn(scenario.cases, *scenario.cross_check);
  }
  const Tree drift = stated_drift(tree, path, overrides);
  if (drift.kind != Tree::Kind::null) read_drift(drift);  // what `shardsim drift` reads is refused everywhere
  return scenario;
}

DriftOptions drift_options(const std::string& text, const std::string& path, const Overrides& overrides) {
  const Tree drift = stated_drift(parse_yaml(text, path), path, overrides);
  if (drift.kind == Tree::Kind::null)
    throw input_error({path}, "the scenario has no 'drift'", "Write 'drift: {days: 14, rotation: 2 %/day}'");
  return read_drift(drift);
}

void Scenario::keep(const std::function<bool(const Case&)>& wanted) {
  std::vector<Case> kept;
  std::vector<std::optional<std::size_t>> moved;  // [old index] new one
  for (Case& item : cases) {
    const bool stays = wanted(item);
    moved.push_back(stays ? std::optional(kept.size()) : std::nullopt);
    if (stays) kept.push_back(std::move(item));
  }
  cases = std::move(kept);
  for (Fabric& fabric : fabrics) {
    std::erase_if(fabric.jobs, [&](std::size_t job) { return !moved[job]; });
    for (std::size_t& job : fabric.jobs) job = *moved[job];
  }
  std::erase_if(fabrics, [](const Fabric& fabric) { return fabric.jobs.empty(); });
}

Scenario read_scenario(const std::string& path, const Overrides& overrides) {
  return scenario_from_text(read_file(path), path, overrides);
}

}  // namespace shardsim
