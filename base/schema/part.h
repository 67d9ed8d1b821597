#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/schema/shape.h"
#include "base/tree/tree.h"

namespace shardsim {

// A kind of map that occurs in several places, such as a planner or a cluster. If it has `names`, its other keys depend
// on the value of one key: `by_name` then has a shape for each value, and `shape` is for maps without that key.
struct Part {
  std::string name_key;
  std::vector<std::string> names;
  std::map<std::string, Shape> by_name;
  Shape shape;
  bool needs_name = true;

  // Such a map may have a `base`, which states what it leaves out.
  bool has_base() const;
};

using Parts = std::map<std::string, Part>;

// The part that says what a sourced value has beside its value.
inline constexpr const char* kSourcedPart = "sourced value";

// Adds to `shape` what the records of `tree`, a whole file or part, say. `accepted`: the reader took it.
void gather(const Tree& tree, bool accepted, Shape& shape, Parts& parts);

}  // namespace shardsim
