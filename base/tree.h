#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace shardsim {

// What a configuration file says before anyone knows what it means: scalars (as text), lists and maps, each with its
// place. YAML and JSON files and --set arguments all become Trees, so that every reader reports places alike.
struct Tree {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  Place place;
  std::string scalar;                                // Kind::scalar: the text, without quotes
  bool quoted = false;                               // Kind::scalar: written in quotes
  std::vector<Tree> items;                           // Kind::list
  std::vector<std::pair<std::string, Tree>> fields;  // Kind::map, in file order, keys unique and in snake_case

  const Tree* find(std::string_view key) const;  // the field's value, or null
  Tree* find(std::string_view key);

  bool operator==(const Tree& other) const;  // by content; places do not count
};

// Replaces (or adds) the value at a dotted path: "cluster.nodes", "cases.0.planner.cut". List items are addressed by
// index. Errors: a path through a scalar, an index outside the list. A path inside a sourced value ({value, source})
// replaces the whole sourced value.
void set_path(Tree& root, std::string_view path, const Tree& value);

// `over` on top of `under`: maps are merged key by key, lists and leaves replaced.
Tree merged(const Tree& under, const Tree& over);

// "map", "list", "text", "nothing" - for messages.
std::string kind_name(Tree::Kind kind);

}  // namespace shardsim
