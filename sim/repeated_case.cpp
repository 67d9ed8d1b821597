#include "sim/repeated_case.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/map_reader.h"
#include "base/text.h"
#include "plan/planner.h"
#include "sim/located.h"

namespace shardsim {
namespace {

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

}  // namespace

std::vector<CaseTree> expand_repeats(CaseTree tree, std::uint64_t seed, std::size_t most) {
  if (tree.keys.find("repeat") == nullptr) return {std::move(tree)};
  MapReader reader(tree.keys, "");
  const auto count = static_cast<std::size_t>(reader.count("repeat"));
  const Place place = reader.place_of("repeat");
  if (count > most) throw input_error(place, fmt::format("{} repeats", count), fmt::format("Write at most {}", most));
  if (count > kMostValues / size_of(tree.keys)) {
    throw input_error(place, fmt::format("{} cases like this hold more than {} values together", count, kMostValues),
                      "Repeat it less, or use a smaller workload");
  }
  require_drawing_planner(tree, place);
  const std::uint64_t first = first_seed(tree, seed);
  std::erase_if(tree.keys.fields, [](const auto& field) { return field.first == "repeat"; });
  std::vector<CaseTree> trees(count, tree);
  for (std::size_t i = 0; i < count; ++i) {
    trees[i].name = fmt::format("{}/{}", tree.name, i + 1);
    set_path(trees[i].keys, "planner.seed", text_tree(fmt::format("{}", first + i), place));
  }
  return trees;
}

}  // namespace shardsim
