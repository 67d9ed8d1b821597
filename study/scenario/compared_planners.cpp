// One case of a scenario file that stands for one per planner: `planners`.

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/tree/map_reader.h"
#include "plan/planner.h"
#include "study/scenario/case_trees.h"
#include "study/scenario/named_tree.h"

namespace shardsim {
namespace {

constexpr const char* kEveryPlanner = "all";

// One of the planners that a case lists.
struct Entry {
  Tree options;  // a map with `name`
  std::string label;
  bool unasked = false;
};

// The label of an entry is no option of its planner.
Entry labelled_entry(Tree options, std::size_t index) {
  MapReader reader(options, fmt::format("planners.{}", index));
  const std::string name = reader.text("name");
  std::string label = reader.has("label") ? reader.text("label", kCaseNameRule) : name;
  std::erase_if(options.fields, [](const auto& field) { return field.first == "label"; });
  return {std::move(options), std::move(label), false};
}

std::vector<Entry> entries_of(const Tree& item, std::size_t index) {
  if (item.kind == Tree::Kind::map) return {labelled_entry(item, index)};
  std::vector<std::string> names = planner_names();
  names.emplace_back(kEveryPlanner);
  note_form(item, {Form::Kind::choice, names});
  const std::string& name = scalar_text(item, "a planner's name, 'all', or a map of its options");
  if (name != kEveryPlanner) return {{named_map(name, item.place), name, false}};
  std::vector<Entry> entries;
  for (const PlannerEntry& known : planners()) {
    entries.push_back({named_map(std::string(known.name), item.place), std::string(known.name), true});
  }
  return entries;
}

void refuse_no_planners(const Tree& list) {
  note_form(list, {Form::Kind::list, {}, Bounds::from(1)});
  note_form(list, {Form::Kind::choice, {kEveryPlanner}});
  const bool none = list.kind == Tree::Kind::list ? list.items.empty() : list.kind != Tree::Kind::scalar;
  if (!none) return;
  throw input_error(list.place,
                    list.kind == Tree::Kind::list ? "'planners' is empty" : "'planners' is neither 'all' nor a list",
                    "Write 'all', or a list of names and of maps {name: ..., OPTION: ...}");
}

std::vector<Entry> listed_entries(const Tree& list) {
  refuse_no_planners(list);
  std::vector<Entry> all;
  std::set<std::string> labels;
  const std::vector<Tree> items = list.kind == Tree::Kind::list ? list.items : std::vector{list};
  for (std::size_t index = 0; index < items.size(); ++index) {
    for (Entry& entry : entries_of(items[index], index)) {
      if (!labels.insert(entry.label).second) {
        throw input_error(items[index].place, fmt::format("two planners are called {}", excerpt(entry.label)),
                          "Tell them apart: write 'label: ...' beside the 'name' of one, or leave one out");
      }
      all.push_back(std::move(entry));
    }
  }
  return all;
}

// The beginning that all names share, in whole parts between "/"; "" where they share none.
std::string common_start(const std::vector<std::string>& names) {
  std::vector<std::string> common = split(names.front(), '/');
  for (const std::string& name : names) {
    const std::vector<std::string> parts = split(name, '/');
    const auto differ = std::ranges::mismatch(common, parts).in1;
    common.erase(differ, common.end());
  }
  return join(common, "/");
}

std::string workload_name(const CaseTree& tree) {
  const Tree* const workload = tree.keys.find("workload");
  const Tree* const name = workload == nullptr ? nullptr : workload->find("name");
  return name == nullptr ? "" : name->scalar;
}

// True when a case outside the group has that name, or lies inside it.
bool is_taken(const std::string& name, const std::string& group, const std::vector<CaseTree>& cases) {
  return std::ranges::any_of(cases, [&](const CaseTree& tree) {
    const bool other = !tree.compared || tree.compared->group != group;
    return other && (tree.name + "/").starts_with(name + "/");
  });
}

}  // namespace

void name_joined(std::vector<CaseTree>& cases, const CaseTree& first) {
  const auto in_group = [&](const CaseTree& tree) { return tree.compared && tree.compared->group == first.name; };
  const auto begin = std::ranges::find_if(cases, in_group);
  if (begin == cases.end() || begin->compared->also.empty()) return;
  std::vector<std::string> names = begin->compared->also;
  names.insert(names.begin(), first.name);
  std::string name = common_start(names);
  if (name.empty()) name = workload_name(first);
  if (name.empty() || is_taken(name, first.name, cases)) name = first.name;
  for (CaseTree& tree : cases) {
    if (!in_group(tree)) continue;
    tree.name = fmt::format("{}/{}", name, tree.compared->label);
    tree.compared->also = names;
    tree.compared->group = name;
  }
}

void refuse_beside_planners(const Tree& keys) {
  if (keys.find("planners") == nullptr) return;
  for (const char* const key : {"published", "relative_to", "repeat"}) {
    const Tree* const beside = keys.find(key);
    if (beside == nullptr) continue;
    throw input_error(beside->place, fmt::format("'{}' and 'planners' cannot be used together", key),
                      "The key belongs to a single plan: write it in a case with 'planner' or 'plan'");
  }
}

std::vector<CaseTree> expand_planners(CaseTree tree) {
  const Tree* const list = tree.keys.find("planners");
  if (list == nullptr) return alone(std::move(tree));
  refuse_beside_planners(tree.keys);
  std::vector<Entry> entries = listed_entries(*list);
  refuse_too_many(tree, entries.size(), list->place);
  std::erase_if(tree.keys.fields, [](const auto& field) { return field.first == "planners"; });
  const std::string name = tree.name;
  std::vector<CaseTree> trees;
  tree.keys.fields.emplace_back("planner", std::move(entries.at(0).options));
  trees.push_back(std::move(tree));
  for (std::size_t i = 1; i < entries.size(); ++i)
    trees.push_back(with_planner(trees.front(), std::move(entries[i].options)));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    trees[i].name = fmt::format("{}/{}", name, entries[i].label);
    trees[i].compared = {name, entries[i].label, {}, entries[i].unasked};
  }
  return trees;
}

}  // namespace shardsim
