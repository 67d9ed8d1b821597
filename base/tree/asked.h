#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree/bounds.h"
#include "base/tree/tree.h"

namespace shardsim {

// The form in which a reader takes a value of a file.
struct Form {
  enum class Kind {
    text,
    pattern,
    choice,
    flag,
    count,
    real,
    share,
    percent,
    bytes,
    time,
    rate,
    flops,
    list,
    map,
    anything  // no reader looks at it where it stands: the new value of a path in `set`, for example
  };

  Kind kind = Kind::text;
  // choice: the texts; pattern: an ECMA expression; text: lookaheads of one; share: what may follow
  std::vector<std::string> words = {};
  // Numbers and quantities, in the base unit; of a text its letters, of a list its items, of a map its keys; of a
  // pattern, the numbers that YAML makes of such texts. Without a least number of keys, a key without a value is an
  // empty map.
  Bounds bounds = {};
  std::string letters = {};  // text: those that it may have; empty: all

  bool operator==(const Form&) const = default;
};

// A map that must be there, with so many keys at least.
inline Form stated_map(int least = 0) {
  return {Form::Kind::map, {}, Bounds::from(least)};
}

// The record of what readers asked of one value of a file. If a tree has one (Tree::asked), readers fill it in while
// they read as usual, so it always agrees with what the readers really accept. base/schema/ makes JSON Schemas of such
// records.
struct Asked {
  // A key that a reader of this map knows.
  struct Key {
    std::string name;
    bool required = false;
    bool sourced = false;     // its value may be written as {value: ..., source: ...}, too
    std::vector<Form> forms;  // none: the reader looked whether the key is there, or took its value as it stands
  };

  std::vector<Form> forms;
  bool sourced = false;              // it was written as {value: ..., source: ...}, and a reader took its `value`
  bool by_name = false;              // a map whose keys a reader asks for by name
  bool finished = false;             // and refuses all others
  std::vector<std::string> allowed;  // the keys that all those readers know
  std::vector<Key> keys;
  std::string part;      // the noun that the value is, such as "planner", where it has a schema of its own
  std::string name_key;  // the key that says which of `names` such a map is, where its keys depend on that
  std::vector<std::string> names;
};

// Gives each value of a tree an empty record.
void record_what_is_asked(Tree& tree);

// The notes below do nothing on a tree without a record.
void note_form(const Tree& tree, const Form& form);
void note_part(const Tree& tree, const std::string& part, const std::vector<std::string>& names = {},
               const std::string& name_key = "name");
void note_closed(const Tree& map, const std::vector<std::string>& known);  // that a reader refuses all other keys

// The demands of a reader on a key that it asks for. `sourced`: the value may be a sourced one. `required`: the same,
// and the key must be there. `required_plain`: the key must be there, and its value must not be a sourced one.
enum class Need { none, sourced, required, required_plain };
void note_key(const Tree& map, std::string_view key, const std::optional<Form>& form = {}, Need need = Need::none);

}  // namespace shardsim
