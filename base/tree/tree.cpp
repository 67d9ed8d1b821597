#include "base/tree/tree.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/tree/asked.h"

namespace shardsim {
namespace {

constexpr std::array<std::string_view, 6> kSourcedKeys = {"value",     "source",    "fitted",
                                                          "fitted_on", "rows_used", "error_unused_pct"};

Tree laid_over(const Tree& under, const Tree& over) {
  const bool both_maps = under.kind == Tree::Kind::map && over.kind == Tree::Kind::map;
  if (!both_maps || is_sourced_value(under) || is_sourced_value(over)) return in_place_of(under, over);
  Tree result = under;
  result.place = over.place;
  result.asked = over.asked;
  for (const auto& [key, value] : over.fields) {
    if (Tree* old = result.find(key)) {
      *old = laid_over(*old, value);
    } else {
      result.fields.emplace_back(key, value);
    }
  }
  return result;
}

Tree empty_tree(Tree::Kind kind, const Place& place) {
  Tree tree;
  tree.kind = kind;
  tree.place = place;
  return tree;
}

}  // namespace

Tree::Tree() = default;
Tree::Tree(const Tree&) = default;
Tree::Tree(Tree&&) noexcept = default;
Tree& Tree::operator=(const Tree&) = default;
Tree& Tree::operator=(Tree&&) noexcept = default;
Tree::~Tree() = default;

const Tree* Tree::find(std::string_view key) const {
  for (const auto& [name, value] : fields) {
    if (name == key) return &value;
  }
  return nullptr;
}

Tree* Tree::find(std::string_view key) {
  return const_cast<Tree*>(std::as_const(*this).find(key));
}

bool Tree::operator==(const Tree& other) const {
  return kind == other.kind && scalar == other.scalar && quoted == other.quoted && items == other.items &&
         fields == other.fields;
}

bool is_sourced_value(const Tree& tree) {
  if (tree.kind != Tree::Kind::map || tree.find("value") == nullptr) return false;
  return std::all_of(tree.fields.begin(), tree.fields.end(), [](const auto& field) {
    return std::find(kSourcedKeys.begin(), kSourcedKeys.end(), field.first) != kSourcedKeys.end();
  });
}

Tree in_place_of(const Tree& under, Tree over) {
  if (under.kind != Tree::Kind::scalar) return over;
  const std::int64_t stated = whole_number<std::int64_t>(under.scalar).value_or(-1);
  over.replaced = std::max({over.replaced, under.replaced, stated});
  return over;
}

int top_layer(const Tree& tree) {
  int top = tree.layer;
  for (const Tree& item : tree.items) top = std::max(top, top_layer(item));
  for (const auto& [key, value] : tree.fields) top = std::max(top, top_layer(value));
  return top;
}

Tree raised(Tree tree, int by) {
  tree.layer += by;
  for (Tree& item : tree.items) item = raised(std::move(item), by);
  for (auto& [key, value] : tree.fields) value = raised(std::move(value), by);
  return tree;
}

Tree merged(const Tree& under, const Tree& over) {
  return laid_over(under, raised(over, top_layer(under) + 1));
}

Tree empty_map(const Place& place) {
  return empty_tree(Tree::Kind::map, place);
}

Tree empty_list(const Place& place) {
  return empty_tree(Tree::Kind::list, place);
}

Tree text_tree(std::string text, const Place& place) {
  Tree tree = empty_tree(Tree::Kind::scalar, place);
  tree.scalar = std::move(text);
  return tree;
}

Tree text_list(const std::vector<std::string>& texts, const Place& place) {
  Tree list = empty_list(place);
  for (const std::string& text : texts) list.items.push_back(text_tree(text, place));
  return list;
}

Tree named_map(const std::string& name, const Place& place) {
  Tree tree = empty_map(place);
  tree.fields.emplace_back("name", text_tree(name, place));
  return tree;
}

Tree named_map(const Tree& stated, const std::vector<std::string>& names) {
  note_form(stated, {Form::Kind::choice, names});
  return stated.kind == Tree::Kind::scalar ? named_map(stated.scalar, stated.place) : stated;
}

std::string kind_name(Tree::Kind kind) {
  static constexpr std::array kNames = {"nothing", "a text", "a list", "a map"};
  return kNames.at(static_cast<std::size_t>(kind));
}

}  // namespace shardsim
