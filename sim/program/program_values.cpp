#include "sim/program/program_values.h"

#include <fmt/core.h>

#include <limits>

namespace shardsim {

int whole(const Tree& tree, int least) {
  const std::int64_t value = parse_count(scalar_text(tree, "a whole number"), tree.place);
  if (value < least || value > std::numeric_limits<int>::max()) {
    throw input_error(tree.place, fmt::format("{} is out of range", value), fmt::format("Write {} or more.", least));
  }
  return static_cast<int>(value);
}

int small_count(MapReader& reader, std::string_view key, std::int64_t most) {
  const std::int64_t value = reader.count(key);
  if (value > most) {
    throw input_error(reader.place_of(key), fmt::format("'{}' is {}", key, value), fmt::format("At most {}.", most));
  }
  return static_cast<int>(value);
}

const std::vector<Tree>& items_of(const Tree& tree, std::string_view expected) {
  if (tree.kind != Tree::Kind::list) {
    throw input_error(tree.place, fmt::format("expected {}, found {}", expected, kind_name(tree.kind)),
                      "Write it in square brackets.");
  }
  return tree.items;
}

const std::vector<std::pair<std::string, Tree>>& named_entries(MapReader& reader, std::string_view key) {
  // A name may be "value", so this map is never a sourced value.
  const Tree* const found = reader.has(key) ? reader.tree().find(key) : &reader.required(key);
  const Tree& tree = *found;
  if (tree.kind != Tree::Kind::map) {
    throw input_error(tree.place, fmt::format("'{}' is {}, not a map", key, kind_name(tree.kind)),
                      "Write it as {\"NAME\": ...}.");
  }
  return tree.fields;
}

std::vector<int> read_ids(MapReader& reader, std::string_view key) {
  std::vector<int> ids;
  if (!reader.has(key)) return ids;
  for (const Tree& item : reader.list(key)) ids.push_back(whole(item, 0));
  return ids;
}

std::int64_t read_units(const Tree& tree) {
  return parse_count(scalar_text(tree, "a whole number"), tree.place);
}

std::vector<std::int64_t> read_unit_list(const Tree& tree) {
  std::vector<std::int64_t> units;
  for (const Tree& item : items_of(tree, "a list of whole numbers")) units.push_back(read_units(item));
  return units;
}

PerRank read_per_rank(MapReader& reader, std::string_view key) {
  PerRank numbers;
  const Tree* const tree = reader.value(key);
  if (tree == nullptr) return numbers;
  const auto read = [](const Tree& item) { return parse_real(scalar_text(item, "a number"), item.place); };
  numbers.values.clear();
  if (tree->kind != Tree::Kind::list) {
    numbers.values.push_back(read(*tree));
  } else {
    for (const Tree& item : tree->items) numbers.values.push_back(read(item));
  }
  return numbers;
}

}  // namespace shardsim
