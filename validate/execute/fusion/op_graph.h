#pragma once

#include <vector>

#include "sim/program/program.h"

namespace shardsim {

// The operations of one iteration and what waits for what.
class OpGraph {
 public:
  explicit OpGraph(const Program& program);  // which must outlive this

  // Over any operations, inside one iteration.
  bool ends_before(int first, int then) const;
  // The same, or in front of such an operation on its own stream.
  bool comes_before(int first, int then) const;

  // Collectives of a class after or before an operation, through compute operations other than lookups only, nearest
  // first.
  std::vector<int> after(OpClass op_class, int from) const;
  std::vector<int> before(OpClass op_class, int from) const;

 private:
  template <typename Neighbours>
  std::vector<int> nearest(OpClass op_class, int from, Neighbours neighbours) const;
  const Op& at(int id) const { return program_.ops[static_cast<std::size_t>(id)]; }

  const Program& program_;
  std::vector<std::vector<int>> followers_;
};

}  // namespace shardsim
