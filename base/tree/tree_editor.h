#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/tree/tree.h"

namespace shardsim {

// Edits of one tree, one after the other, each newer than all that was there before. The tree is looked at once and not
// for every edit, so that thousands of edits of thousands of tables take no longer than one of each. Nobody else
// changes the tree meanwhile, and it outlives the editor.
class TreeEditor {
 public:
  explicit TreeEditor(Tree& root) : root_(&root) {}

  // Replaces (or adds) the value at a dotted path: "cluster.nodes", "workload.tables.0.rows". List items are addressed
  // by index or, where they are maps with a `name`, by that ("workload.tables.history.rows"): a whole number is an
  // index, and of names with dots the longest that fits counts. Hyphens in keys read as underscores. A path to the
  // `value` of a sourced value replaces the whole sourced value: the old source does not hold for the new number.
  // Errors, at the place of `value`, with the tree as it was: a path through a scalar, an item that the list does not
  // have, a name that several items have, another key of a sourced value, an empty part.
  void set(std::string_view path, const Tree& value);

 private:
  // Where the items of one name are: the first, and the second where there are several.
  struct Named {
    std::size_t first = 0;
    std::optional<std::size_t> second{};
  };
  using Names = std::unordered_map<std::string, Named>;
  struct Walk;
  struct Step;

  void set_part(Tree& tree, Walk walk);
  void set_field(Tree& tree, const Walk& walk);
  Step item_step(const Tree& list, const Walk& walk);
  const Names& names_of(const Tree& list, const std::string& at);
  void forget_names(std::span<const std::string> parts);

  Tree* root_;
  std::optional<int> top_{};            // the highest layer so far
  std::map<std::string, Names> names_;  // of lists whose items were named, by the path of the list
  std::string changed_;                 // the path of the last edit, items by their index
};

// One edit.
void set_path(Tree& root, std::string_view path, const Tree& value);

}  // namespace shardsim
