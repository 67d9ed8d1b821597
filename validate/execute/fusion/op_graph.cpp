#include "validate/execute/fusion/op_graph.h"

#include <algorithm>
#include <set>

namespace shardsim {

OpGraph::OpGraph(const Program& program) : program_(program) {
  followers_.resize(program.ops.size());
  for (const Op& op : program.ops) {
    for (const int id : op.after) followers_[static_cast<std::size_t>(id)].push_back(op.id);
  }
}

bool OpGraph::ends_before(int first, int then) const {
  std::set<int> seen;
  std::vector<int> open{then};
  while (!open.empty()) {
    const int from = open.back();
    open.pop_back();
    if (from == first) return true;
    for (const int id : at(from).after) {
      if (id >= first && seen.insert(id).second) open.push_back(id);
    }
  }
  return false;
}

bool OpGraph::comes_before(int first, int then) const {
  for (int id = first; id <= then; ++id) {
    if (at(id).stream == at(first).stream && ends_before(id, then)) return true;
  }
  return false;
}

template <typename Neighbours>
std::vector<int> OpGraph::nearest(OpClass op_class, int from, Neighbours neighbours) const {
  std::vector<int> found, level{from};
  std::set<int> seen{from};
  while (!level.empty()) {
    std::vector<int> next;
    for (const int here : level) {
      for (const int id : neighbours(here)) {
        if (!seen.insert(id).second) continue;
        const Op& op = at(id);
        if (op.op_class == op_class) found.push_back(id);
        if (!op.is_collective() && op.op_class != OpClass::lookup) next.push_back(id);
      }
    }
    std::ranges::sort(next);
    level = std::move(next);
  }
  return found;
}

std::vector<int> OpGraph::after(OpClass op_class, int from) const {
  return nearest(op_class, from, [this](int id) { return followers_[static_cast<std::size_t>(id)]; });
}

std::vector<int> OpGraph::before(OpClass op_class, int from) const {
  return nearest(op_class, from, [this](int id) { return at(id).after; });
}

}  // namespace shardsim
