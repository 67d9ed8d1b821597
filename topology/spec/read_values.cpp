#include <fmt/format.h>

#include "topology/spec/readers.h"

namespace shardsim {
namespace {

int at_most(MapReader& reader, std::string_view key, std::int64_t count, int most) {
  if (count <= most) return static_cast<int>(count);
  throw input_error(reader.place_of(key),
                    fmt::format("{} of {} is too many, at most {} are possible", key, count, most),
                    "Write a smaller number");
}

}  // namespace

int small_count(MapReader& reader, std::string_view key, int most) {
  return at_most(reader, key, reader.count(key), most);
}

int small_count(MapReader& reader, std::string_view key, int most, int fallback) {
  return at_most(reader, key, reader.count(key, fallback), most);
}

int read_index(const Tree& tree, int end, const std::string& what) {
  const std::int64_t index = parse_count(scalar_text(tree, "a whole number"), tree.place);
  if (index < end) return static_cast<int>(index);
  const std::string known =
      end == 0 ? fmt::format("the node has no {}", what) : fmt::format("the node has {} 0 to {}", what, end - 1);
  throw input_error(tree.place, fmt::format("{} {} does not exist: {}", what, index, known),
                    "Indices count from 0 within one node");
}

std::vector<int> read_indices(const Tree& list, int end, const std::string& what) {
  if (list.kind != Tree::Kind::list) {
    throw input_error(list.place, fmt::format("expected a list of {} indices, found {}", what, kind_name(list.kind)),
                      "Write it as [0, 1]");
  }
  std::vector<int> indices;
  for (const Tree& item : list.items) indices.push_back(read_index(item, end, what));
  return indices;
}

}  // namespace shardsim
