#include "base/tree/tree_builder.h"

#include <algorithm>

#include "base/text.h"

namespace shardsim {
namespace {

std::size_t depth_of(const Tree& tree) {
  std::size_t deepest = 0;
  for (const Tree& item : tree.items) deepest = std::max(deepest, depth_of(item));
  for (const auto& [key, value] : tree.fields) deepest = std::max(deepest, depth_of(value));
  const bool container = tree.kind == Tree::Kind::list || tree.kind == Tree::Kind::map;
  return deepest + (container ? 1 : 0);
}

}  // namespace

std::size_t size_of(const Tree& tree, std::size_t most) {
  std::size_t count = 1;
  for (const Tree& item : tree.items) {
    if (count > most) return count;
    count += size_of(item, most);
  }
  for (const auto& [key, value] : tree.fields) {
    if (count > most) return count;
    count += 1 + size_of(value, most);
  }
  return count;
}

void TreeBuilder::open(Tree::Kind kind, const Place& place) {
  spend(1, place);
  check_depth(open_.size() + 1, place);
  open_.emplace_back();
  open_.back().tree.kind = kind;
  open_.back().tree.place = place;
}

void TreeBuilder::close() {
  Tree tree = std::move(open_.back().tree);
  open_.pop_back();
  add(std::move(tree));
}

void TreeBuilder::key(std::string name, const Place& place) {
  spend(1, place);
  check_text(name, place);
  Level& level = open_.back();
  if (!level.keys.insert(name).second) {
    throw input_error(place, "the key " + excerpt(name) + " appears twice in one map", "Remove one of the two");
  }
  if (level.keys.size() > limits_.keys_per_map) {
    throw input_error(place,
                      "a map with over " + with_thousands(static_cast<std::int64_t>(limits_.keys_per_map)) + " keys",
                      limits_.remedy);
  }
  level.key = std::move(name);
  level.key_place = place;
}

void TreeBuilder::leaf(Tree::Kind kind, std::string text, bool quoted, const Place& place) {
  spend(1, place);
  check_text(text, place);
  Tree tree = text_tree(std::move(text), place);
  tree.kind = kind;
  tree.quoted = quoted;
  add(std::move(tree));
}

void TreeBuilder::copy(const Tree& tree, const Place& place) {
  spend(size_of(tree, limits_.values), place);
  check_depth(open_.size() + depth_of(tree), place);
  add(Tree(tree));
}

bool TreeBuilder::wants_key() const {
  return !open_.empty() && open_.back().tree.kind == Tree::Kind::map && !open_.back().key;
}

void TreeBuilder::spend(std::size_t values, const Place& place) {
  values_ += values;
  if (values_ <= limits_.values) return;
  throw input_error(place, "over " + with_thousands(static_cast<std::int64_t>(limits_.values)) + " values in one file",
                    limits_.remedy);
}

void TreeBuilder::check_text(const std::string& text, const Place& place) const {
  if (text.find('\0') == std::string::npos) return;
  throw input_error(place, "the text " + excerpt(text) + " holds a NUL character", "Remove it");
}

void TreeBuilder::check_depth(std::size_t depth, const Place& place) const {
  if (depth <= limits_.depth) return;
  throw input_error(place, "nested deeper than " + std::to_string(limits_.depth) + " levels",
                    "No file for shardsim needs that many: look for a bracket that is not closed");
}

void TreeBuilder::add(Tree&& tree) {
  if (open_.empty()) {
    root_ = std::move(tree);
    last_ = &root_;
    return;
  }
  Level& level = open_.back();
  if (level.tree.kind == Tree::Kind::list) {
    level.tree.items.push_back(std::move(tree));
    last_ = &level.tree.items.back();
    return;
  }
  tree.key_line = level.key_place.line;
  tree.key_column = level.key_place.column;
  level.tree.fields.emplace_back(std::move(*level.key), std::move(tree));
  level.key.reset();
  last_ = &level.tree.fields.back().second;
}

}  // namespace shardsim
