#include "base/tree/tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/text.h"
#include "base/tree/asked.h"

namespace shardsim {
namespace {

constexpr std::size_t kMaxPathParts = 64;

constexpr std::array<std::string_view, 6> kSourcedKeys = {"value",     "source",    "fitted",
                                                          "fitted_on", "rows_used", "error_unused_pct"};

// What of a dotted path is still to be walked, and the whole of it for messages.
struct Walk {
  std::span<const std::string> parts;
  std::string_view path;
  const Tree& value;
};

[[noreturn]] void refuse(const Walk& walk, const std::string& wrong, const std::string& remedy) {
  throw input_error(walk.value.place, "path " + excerpt(walk.path) + ": " + wrong, remedy);
}

// An item of a list, and how many parts of the path name it.
struct Step {
  std::size_t index = 0, parts = 1;
};

std::vector<std::string> item_names(const Tree& list) {
  std::vector<std::string> names;
  for (const Tree& item : list.items) {
    const Tree* const name = item.find("name");
    names.push_back(name != nullptr && name->kind == Tree::Kind::scalar ? name->scalar : "");
  }
  return names;
}

[[noreturn]] void refuse_item(const std::vector<std::string>& names, const Walk& walk) {
  constexpr std::size_t kListed = 20;  // names in a message
  const std::string& part = walk.parts.front();
  const bool have_names = std::ranges::any_of(names, [](const std::string& name) { return !name.empty(); });
  const std::string near = nearest(part, names);
  std::string remedy = "Items are numbered from 0";
  if (have_names) remedy += ", or have names. ";
  if (have_names && names.size() <= kListed) remedy += known_names_hint(part, names);
  if (names.size() > kListed && !near.empty()) remedy += "Did you mean '" + near + "'?";
  refuse(walk, excerpt(part) + " is no item of a list of " + std::to_string(names.size()), remedy);
}

// A whole number is an index. Anything else is a name, as long as fits: a name may have dots.
Step item_step(const Tree& list, const Walk& walk) {
  const std::string& part = walk.parts.front();
  const std::vector<std::string> names = item_names(list);
  Step step;
  const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), step.index);
  if (failure == std::errc{} && end == part.data() + part.size()) {
    if (step.index >= list.items.size()) refuse_item(names, walk);
    return step;
  }
  for (step.parts = walk.parts.size(); step.parts > 0; --step.parts) {
    const std::string name =
        join({walk.parts.begin(), walk.parts.begin() + static_cast<std::ptrdiff_t>(step.parts)}, ".");
    const auto found = std::ranges::find(names, name);
    if (name.empty() || found == names.end()) continue;
    step.index = static_cast<std::size_t>(found - names.begin());
    const auto again = std::find(found + 1, names.end(), name);
    if (again == names.end()) return step;
    refuse(walk, "several items are named " + excerpt(name),
           "Write the number of one: " + std::to_string(step.index) + ", " + std::to_string(again - names.begin()) +
               " ...");
  }
  refuse_item(names, walk);
}

Tree raised(Tree tree, int by) {
  tree.layer += by;
  for (Tree& item : tree.items) item = raised(std::move(item), by);
  for (auto& [key, value] : tree.fields) value = raised(std::move(value), by);
  return tree;
}

Tree laid_over(const Tree& under, const Tree& over) {
  const bool both_maps = under.kind == Tree::Kind::map && over.kind == Tree::Kind::map;
  if (!both_maps || is_sourced_value(under) || is_sourced_value(over)) return over;
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

void set_part(Tree& tree, const Walk& walk);

void set_sourced(Tree& tree, const Walk& walk) {
  if (walk.parts.size() > 1 || walk.parts.front() != "value") {
    refuse(walk, "the path leads into a value that is written with its source",
           "Set the whole value: shorten the path by its last part");
  }
  tree = walk.value;
}

void set_field(Tree& tree, const Walk& walk) {
  if (tree.kind == Tree::Kind::null) {
    tree.kind = Tree::Kind::map;
    tree.place = walk.value.place;
  }
  std::string key = walk.parts.front();
  std::replace(key.begin(), key.end(), '-', '_');
  if (tree.find(key) == nullptr) {
    tree.fields.emplace_back(key, Tree{});
    tree.fields.back().second.place = walk.value.place;
  }
  set_part(*tree.find(key), {walk.parts.subspan(1), walk.path, walk.value});
}

void set_part(Tree& tree, const Walk& walk) {
  if (walk.parts.empty()) {
    tree = walk.value;
    return;
  }
  if (walk.parts.front().empty()) refuse(walk, "one part of the path is empty", "Write for example cluster.nodes");
  if (is_sourced_value(tree)) return set_sourced(tree, walk);
  switch (tree.kind) {
    case Tree::Kind::scalar:
      refuse(walk, excerpt(walk.parts.front()) + " lies inside the text " + excerpt(tree.scalar),
             "Only maps and lists have parts");
    case Tree::Kind::list: {
      const Step step = item_step(tree, walk);
      return set_part(tree.items[step.index], {walk.parts.subspan(step.parts), walk.path, walk.value});
    }
    default:
      return set_field(tree, walk);
  }
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

int top_layer(const Tree& tree) {
  int top = tree.layer;
  for (const Tree& item : tree.items) top = std::max(top, top_layer(item));
  for (const auto& [key, value] : tree.fields) top = std::max(top, top_layer(value));
  return top;
}

void set_path(Tree& root, std::string_view path, const Tree& value) {
  const std::vector<std::string> parts = split(path, '.');
  const Tree above = raised(value, top_layer(root) + 1);
  const Walk walk{parts, path, above};
  if (parts.size() > kMaxPathParts) refuse(walk, "the path has more than 64 parts", "Write for example cluster.nodes");
  Tree changed = root;
  set_part(changed, walk);
  root = std::move(changed);
}

Tree merged(const Tree& under, const Tree& over) {
  return laid_over(under, raised(over, top_layer(under) + 1));
}

Tree text_tree(std::string text, const Place& place) {
  Tree tree;
  tree.kind = Tree::Kind::scalar;
  tree.scalar = std::move(text);
  tree.place = place;
  return tree;
}

Tree named_map(const std::string& name, const Place& place) {
  Tree tree;
  tree.kind = Tree::Kind::map;
  tree.place = place;
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
