#include "base/tree/tree_editor.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace shardsim {

// A walk along a dotted path: the parts that are left, the whole path for messages, and the place reached so far.
struct TreeEditor::Walk {
  std::span<const std::string> parts;
  std::string_view path;
  const Tree& value;
  std::string at{};

  Walk behind(std::size_t count, const std::string& part) const {
    return {parts.subspan(count), path, value, at + part + "."};
  }
};

// An item of a list, and how many parts of the path name it.
struct TreeEditor::Step {
  std::size_t index = 0, parts = 1;
};

namespace {

constexpr std::size_t kMaxPathParts = 64;
constexpr std::size_t kMostLists = 16;  // whose names are kept: more are edited once each, if at all

[[noreturn]] void refuse(std::string_view path, const Tree& value, const std::string& wrong,
                         const std::string& remedy) {
  throw input_error(value.place, "path " + excerpt(path) + ": " + wrong, remedy);
}

std::string name_of(const Tree& item) {
  const Tree* const name = item.find("name");
  return name != nullptr && name->kind == Tree::Kind::scalar ? name->scalar : "";
}

std::vector<std::string> item_names(const Tree& list) {
  std::vector<std::string> names;
  for (const Tree& item : list.items) names.push_back(name_of(item));
  return names;
}

[[noreturn]] void refuse_item(const std::string& part, const Tree& list, std::string_view path, const Tree& value) {
  constexpr std::size_t kListed = 20;  // names in a message
  const std::vector<std::string> names = item_names(list);
  const bool have_names = std::ranges::any_of(names, [](const std::string& name) { return !name.empty(); });
  const std::string near = nearest(part, names);
  std::string remedy = "Items are numbered from 0";
  if (have_names) remedy += ", or have names. ";
  if (have_names && names.size() <= kListed) remedy += known_names_hint(part, names);
  if (names.size() > kListed && !near.empty()) remedy += "Did you mean '" + near + "'?";
  refuse(path, value, excerpt(part) + " is no item of a list of " + std::to_string(names.size()), remedy);
}

// "a.b.c." of the parts a, b and c.
std::string dotted(std::span<const std::string> parts) {
  return join({parts.begin(), parts.end()}, ".");
}

}  // namespace

const TreeEditor::Names& TreeEditor::names_of(const Tree& list, const std::string& at) {
  if (names_.size() >= kMostLists && !names_.contains(at)) names_.clear();
  const auto [known, is_new] = names_.try_emplace(at);
  for (std::size_t i = 0; is_new && i < list.items.size(); ++i) {
    const auto [same, first] = known->second.try_emplace(name_of(list.items[i]), Named{i});
    if (!first && !same->second.second) same->second.second = i;
  }
  return known->second;
}

// A whole number is an index. Anything else is a name, as long as fits: a name may have dots.
TreeEditor::Step TreeEditor::item_step(const Tree& list, const Walk& walk) {
  const std::string& part = walk.parts.front();
  Step step;
  if (const auto index = whole_number<std::size_t>(part)) {
    step.index = *index;
    if (step.index >= list.items.size()) refuse_item(part, list, walk.path, walk.value);
    return step;
  }
  const Names& names = names_of(list, walk.at);
  for (step.parts = walk.parts.size(); step.parts > 0; --step.parts) {
    const std::string name = dotted(walk.parts.first(step.parts));
    const auto found = names.find(name);
    if (name.empty() || found == names.end()) continue;
    step.index = found->second.first;
    if (!found->second.second) return step;
    refuse(walk.path, walk.value, "several items are named " + excerpt(name),
           "Write the number of one: " + std::to_string(step.index) + ", " + std::to_string(*found->second.second) +
               " ...");
  }
  refuse_item(part, list, walk.path, walk.value);
}

// A key that is not there is added when all below it is made: an error leaves nothing behind.
void TreeEditor::set_field(Tree& tree, const Walk& walk) {
  const bool as_written = tree.find(walk.parts.front()) != nullptr;  // a name in quotes
  const std::string key = as_written ? walk.parts.front() : as_key(walk.parts.front());
  if (Tree* const field = tree.find(key)) return set_part(*field, walk.behind(1, key));
  Tree made;
  made.place = walk.value.place;
  set_part(made, walk.behind(1, key));
  if (tree.kind == Tree::Kind::null) {
    tree.kind = Tree::Kind::map;
    tree.place = walk.value.place;
  }
  tree.fields.emplace_back(key, std::move(made));
}

void TreeEditor::set_part(Tree& tree, Walk walk) {
  if (walk.parts.empty()) {
    changed_ = walk.at;
    tree = in_place_of(tree, walk.value);
    return;
  }
  const std::string& part = walk.parts.front();
  if (part.empty()) refuse(walk.path, walk.value, "one part of the path is empty", "Write for example cluster.nodes");
  if (is_sourced_value(tree)) {
    if (walk.parts.size() == 1 && part == "value") return set_part(tree, {{}, walk.path, walk.value, walk.at});
    refuse(walk.path, walk.value, "the path leads into a value that is written with its source",
           "Set the whole value: shorten the path by its last part");
  }
  if (tree.kind == Tree::Kind::scalar) {
    refuse(walk.path, walk.value, excerpt(part) + " lies inside the text " + excerpt(tree.scalar),
           "Only maps and lists have parts");
  }
  if (tree.kind != Tree::Kind::list) return set_field(tree, walk);
  const Step step = item_step(tree, walk);
  set_part(tree.items[step.index], walk.behind(step.parts, std::to_string(step.index)));
}

// Names hold until an item is replaced or gets another one, or a list that they are in, or what holds that.
void TreeEditor::forget_names(std::span<const std::string> parts) {
  if (std::ranges::find(parts, "name") != parts.end()) return names_.clear();
  std::erase_if(names_, [&](const auto& known) {
    const std::string& list = known.first;
    const bool item = changed_.starts_with(list) && changed_.find('.', list.size()) + 1 == changed_.size();
    return item || list.starts_with(changed_);
  });
}

void TreeEditor::set(std::string_view path, const Tree& value) {
  const std::vector<std::string> parts = split(path, '.');
  if (!top_) top_ = top_layer(*root_);
  const Tree above = raised(value, *top_ + 1);
  if (parts.size() > kMaxPathParts)
    refuse(path, above, "the path has more than 64 parts", "Write for example cluster.nodes");
  set_part(*root_, {parts, path, above});
  top_ = std::max(*top_, top_layer(above));
  forget_names(parts);
}

void set_path(Tree& root, std::string_view path, const Tree& value) {
  TreeEditor(root).set(path, value);
}

}  // namespace shardsim
