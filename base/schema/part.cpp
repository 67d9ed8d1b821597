#include "base/schema/part.h"

#include <algorithm>
#include <utility>

namespace shardsim {
namespace {

Shape::Key& key_of(Shape& shape, const std::string& name) {
  const auto known = std::ranges::find(shape.keys, name, &Shape::Key::name);
  if (known != shape.keys.end()) return *known;
  shape.keys.emplace_back();
  shape.keys.back().name = name;
  return shape.keys.back();
}

void add_forms(const std::vector<Form>& forms, Shape& shape) {
  for (const Form& form : forms) {
    if (std::ranges::find(shape.forms, form) == shape.forms.end()) shape.forms.push_back(form);
  }
}

Shape& only(std::vector<Shape>& one) {
  if (one.empty()) one.emplace_back();
  return one.front();
}

class Gatherer {
 public:
  Gatherer(bool accepted, Parts& parts) : accepted_(accepted), parts_(parts) {}

  // `whole` is false where the value is laid over another one, so that a key that it lacks tells nothing.
  void value(const Tree& tree, bool whole, Shape& shape) {
    if (!tree.asked) return;
    if (tree.asked->sourced) return sourced(tree, whole, shape);
    add_forms(tree.asked->forms, shape);
    for (const Tree& item : tree.items) value(item, true, only(shape.item));
    if (tree.kind == Tree::Kind::map) map(tree, whole, shape);
  }

  void root(const Tree& tree, Shape& shape) {
    is_root_ = true;
    value(tree, tree.find("base") == nullptr, shape);
  }

 private:
  void sourced(const Tree& tree, bool whole, Shape& shape) {
    keys(tree, false, parts_[kSourcedPart].shape, {"value"});
    if (const Tree* const inside = tree.find("value")) value(*inside, whole, shape);
  }

  void map(const Tree& tree, bool whole, Shape& shape) {
    const bool at_root = std::exchange(is_root_, false);
    if (tree.asked->part.empty()) return fields(tree, whole, shape);
    shape.part = tree.asked->part;
    Part& part = parts_[shape.part];
    part.name_key = tree.asked->name_key;
    part.names = tree.asked->names;
    if (Shape* const inside = shape_in(part, tree)) fields(tree, whole && (at_root || !part.has_base()), *inside);
  }

  // Where a part's own shape is gathered; null when the tree is none that is known.
  Shape* shape_in(Part& part, const Tree& tree) {
    const Tree* const name = tree.find(part.name_key);
    if (part.names.empty()) return &part.shape;
    if (name == nullptr) {
      part.needs_name = part.needs_name && !accepted_;
      return &part.shape;
    }
    const bool known = std::ranges::find(part.names, name->scalar) != part.names.end();
    return known ? &part.by_name[name->scalar] : nullptr;
  }

  void fields(const Tree& tree, bool whole, Shape& shape) {
    if (tree.asked->by_name || !tree.asked->keys.empty()) return keys(tree, whole, shape, {});
    for (const auto& [key, inside] : tree.fields) value(inside, whole, only(shape.free));
  }

  // A reader that refuses unknown keys knows it, or it was there and nobody minded.
  bool is_allowed(const Tree& tree, const std::string& key) const {
    const std::vector<std::string>& allowed = tree.asked->allowed;
    return std::ranges::find(allowed, key) != allowed.end() || (accepted_ && tree.find(key) != nullptr);
  }

  // The keys that a map was asked for, those that it lacks among them.
  void keys(const Tree& tree, bool whole, Shape& shape, const std::vector<std::string>& left_out) {
    const bool counts = whole && (tree.asked->finished || accepted_);
    shape.by_name = true;
    shape.closed = shape.closed || tree.asked->finished;
    shape.maps += counts ? 1 : 0;
    for (const Asked::Key& asked : tree.asked->keys) {
      Shape::Key& key = key_of(shape, asked.name);
      const Tree* const inside = tree.find(asked.name);
      key.sourced = key.sourced || asked.sourced;
      key.allowed = key.allowed || is_allowed(tree, asked.name);
      if (counts && asked.required && inside != nullptr) ++key.required_in;
      add_forms(asked.forms, key.shape);
      if (inside == nullptr || std::ranges::find(left_out, asked.name) != left_out.end()) continue;
      value(*inside, whole, key.shape);
    }
  }

  bool accepted_;
  bool is_root_ = false;
  Parts& parts_;
};

}  // namespace

Shape::Shape() = default;
Shape::Shape(const Shape&) = default;
Shape::Shape(Shape&&) noexcept = default;
Shape& Shape::operator=(const Shape&) = default;
Shape& Shape::operator=(Shape&&) noexcept = default;
Shape::~Shape() = default;

bool Part::has_base() const {
  return find_key(shape, "base") != nullptr;
}

void gather(const Tree& tree, bool accepted, Shape& shape, Parts& parts) {
  Gatherer(accepted, parts).root(tree, shape);
}

const Shape::Key* find_key(const Shape& shape, const std::string& name) {
  const auto found = std::ranges::find(shape.keys, name, &Shape::Key::name);
  return found == shape.keys.end() ? nullptr : &*found;
}

}  // namespace shardsim
