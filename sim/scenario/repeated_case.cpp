#include "sim/scenario/repeated_case.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/map_reader.h"
#include "base/text.h"
#include "plan/planner.h"
#include "sim/scenario/located.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostRepeats = 1000;

// Unknown names are left to whoever makes the planner.
bool draws_nothing(const std::string& name) {
  const auto known = std::ranges::find(planners(), std::string_view(name), &PlannerEntry::name);
  return known != planners().end() && !known->drawn;
}

void require_drawing_planner(const CaseTree& tree, const Place& repeat) {
  const Tree* const planner = tree.keys.find("planner");
  const Tree* const name = planner == nullptr ? nullptr : planner->find("name");
  if (name != nullptr && !draws_nothing(name->scalar)) return;
  const std::string wrong =
      name == nullptr ? "'repeat' without a planner"
                      : fmt::format("'repeat', but planner {} makes the same plan every time", excerpt(name->scalar));
  throw input_error(repeat, wrong, "Use 'planner: {name: random}', or leave 'repeat' out");
}

std::uint64_t first_seed(const CaseTree& tree, std::uint64_t seed) {
  MapReader planner(*tree.keys.find("planner"), "planner");
  return planner.has("seed") ? static_cast<std::uint64_t>(planner.count_from("seed", 0, 1)) : seed;
}

CaseTree repetition_of(const CaseTree& tree) {
  CaseTree again;
  again.place = tree.place;
  again.changed = tree.changed;
  again.again = true;
  again.keys.kind = Tree::Kind::map;
  again.keys.place = tree.keys.place;
  again.keys.fields.emplace_back("planner", *tree.keys.find("planner"));
  return again;
}

}  // namespace

std::vector<CaseTree> expand_repeats(CaseTree tree, std::uint64_t seed) {
  if (tree.keys.find("repeat") == nullptr) return {std::move(tree)};
  MapReader reader(tree.keys, "");
  const auto count = static_cast<std::size_t>(reader.count("repeat"));
  const Place place = reader.place_of("repeat");
  if (count > kMostRepeats) {
    throw input_error(place, fmt::format("{} repeats", count), fmt::format("Write at most {}", kMostRepeats));
  }
  if (count > kMostValues / size_of(tree.keys)) {
    throw input_error(place, fmt::format("{} cases like this hold more than {} values together", count, kMostValues),
                      "Repeat it less, or use a smaller workload");
  }
  require_drawing_planner(tree, place);
  const std::uint64_t first = first_seed(tree, seed);
  std::erase_if(tree.keys.fields, [](const auto& field) { return field.first == "repeat"; });
  const std::string name = tree.name;
  std::vector<CaseTree> trees = {std::move(tree)};
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) trees.push_back(repetition_of(trees.front()));
    trees[i].name = fmt::format("{}/{}", name, i + 1);
    set_path(trees[i].keys, "planner.seed", text_tree(fmt::format("{}", first + i), place));
  }
  return trees;
}

}  // namespace shardsim
