#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/tree/asked.h"

namespace shardsim {

// The forms and keys that readers take at one place of their files, gathered from the records (base/tree/asked.h) of
// many values there.
struct Shape {
  struct Key;

  std::vector<Form> forms;                       // none: no reader said anything, so that everything may stand here
  bool by_name = false;                          // a map whose keys a reader asks for by name
  bool closed = false;                           // and which refuses all others
  std::vector<Key> keys;                         // in the order in which they were first asked for
  std::vector<std::vector<std::string>> one_of;  // of each group of keys exactly one is there
  std::size_t maps = 0;                          // that a reader went through to the end, each of them whole
  std::vector<Shape> item;                       // of a list; none or one
  std::vector<Shape> free;  // the values of a map whose keys are anybody's: patterns or names of tables; none or one
  std::string part;         // where not empty: as Parts says under this name

  Shape();
  Shape(const Shape&);
  Shape(Shape&&) noexcept;
  Shape& operator=(const Shape&);
  Shape& operator=(Shape&&) noexcept;
  ~Shape();
};

struct Shape::Key {
  std::string name;
  bool allowed = false;         // in a map that refuses all other keys
  bool sourced = false;         // its value may be written as {value: ..., source: ...}
  std::size_t required_in = 0;  // of the maps that were read to the end: in all of them, and it is a required key
  Shape shape;
  std::string usual, help;  // its default as reference pages write it, and its meaning; empty where no one said
};

// The key of a shape, or null.
const Shape::Key* find_key(const Shape& shape, const std::string& name);

}  // namespace shardsim
