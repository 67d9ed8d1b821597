#include "topology/spec/index_lists.h"

#include <fmt/format.h>

#include "base/tree/leaf.h"

namespace shardsim {

int read_index(const Tree& tree, int end, const std::string& what) {
  const std::int64_t index = count_leaf()(tree);
  if (index < end) return static_cast<int>(index);
  const std::string known =
      end == 0 ? fmt::format("the node has no {}", what) : fmt::format("the node has {} 0 to {}", what, end - 1);
  throw input_error(tree.place, fmt::format("{} {} does not exist: {}", what, index, known),
                    "Indices count from 0 within one node");
}

std::vector<int> read_indices(const Tree& list, int end, const std::string& what) {
  if (list.kind != Tree::Kind::list) {
    throw input_error(list.place,
                      fmt::format("this must be a list of {} indices, but is {}", what, kind_name(list.kind)),
                      "Write it as [0, 1]");
  }
  std::vector<int> indices;
  for (const Tree& item : list.items) indices.push_back(read_index(item, end, what));
  return indices;
}

std::string indices_text(const std::vector<int>& indices) {
  return fmt::format("[{}]", fmt::join(indices, ", "));
}

}  // namespace shardsim
