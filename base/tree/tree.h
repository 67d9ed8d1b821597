#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace shardsim {

struct Asked;

// The content of a configuration file before it is interpreted: scalars (as text), lists and maps, each with its place.
// YAML and JSON files and --set arguments all become Trees, so that every reader reports places alike.
struct Tree {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  Place place;
  std::string scalar;                                // Kind::scalar: the text, without quotes
  bool quoted = false;                               // Kind::scalar: written in quotes
  std::vector<Tree> items;                           // Kind::list
  std::vector<std::pair<std::string, Tree>> fields;  // Kind::map, in file order, keys unique and in snake_case

  // Where the key of this value stands, when it is a map's field read from YAML (line and column from 1, else 0).
  int key_line = 0;
  int key_column = 0;

  // The order in which values were stated: 0 if they come from a single file; merged() and TreeEditor give what they
  // add a number above all that were there before. If a value was derived from another one that has a higher number, it
  // is out of date.
  int layer = 0;
  // The largest whole number that this value replaced where it was laid over others; -1: none.
  std::int64_t replaced = -1;

  // Where readers note what they ask of this value (base/tree/asked.h), and copies of it note it in the same place.
  // Null in all trees but those that a schema is made from.
  std::shared_ptr<Asked> asked;

  // Defined in tree.cpp, where the pair of `fields` is complete: clang needs that.
  Tree();
  Tree(const Tree&);
  Tree(Tree&&) noexcept;
  Tree& operator=(const Tree&);
  Tree& operator=(Tree&&) noexcept;
  ~Tree();

  const Tree* find(std::string_view key) const;  // the field's value, or null
  Tree* find(std::string_view key);

  bool operator==(const Tree& other) const;  // by content; places and layers do not count
};

// The value that takes the place of `under`, and remembers it.
Tree in_place_of(const Tree& under, Tree over);

// The highest layer in a tree, and the tree with all its layers higher by so many.
int top_layer(const Tree& tree);
Tree raised(Tree tree, int by);

// An empty map or list, a leaf with that text, a list of such leaves, and the map {name: NAME}, all at `place`.
Tree empty_map(const Place& place = {});
Tree empty_list(const Place& place = {});
Tree text_tree(std::string text, const Place& place = {});
Tree text_list(const std::vector<std::string>& texts, const Place& place = {});
Tree named_map(const std::string& name, const Place& place = {});

// The map {name: NAME} of what may be a plain name, one of `names` as whoever reads the map will see; anything else as
// it is.
Tree named_map(const Tree& stated, const std::vector<std::string>& names);

// A map in the form {value, source, fitted, ...} that any constant of a cluster or workload file may take.
bool is_sourced_value(const Tree& tree);

// `over` on top of `under`: maps are merged key by key, lists and leaves (sourced values too) replaced.
Tree merged(const Tree& under, const Tree& over);

// "map", "list", "text", "nothing" - for messages.
std::string kind_name(Tree::Kind kind);

}  // namespace shardsim
