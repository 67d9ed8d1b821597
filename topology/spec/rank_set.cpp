#include "topology/spec/rank_set.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/text.h"
#include "base/tree/leaf.h"
#include "base/unit_names.h"

namespace shardsim {
namespace {

// What is counted from 0 to size - 1.
struct Members {
  int size = 0;
  const char* noun = "rank";
  const char* whole = "world";

  std::string forms() const {
    return fmt::format("Write a list of {}s, or \"FIRST-LAST\", \"FIRST-LAST:STRIDE\", \"5\"", noun);
  }
};

int in_range(std::int64_t number, const Members& members, const Place& place) {
  if (number < members.size) return static_cast<int>(number);
  throw input_error(
      place, fmt::format("{0} {1} is outside the {2} of {3} {0}s", members.noun, number, members.whole, members.size),
      fmt::format("They are numbered 0 to {}", members.size - 1));
}

// A number of the text form: parse_count would point at the text but not name the forms.
std::int64_t number(const std::string& text, const Members& members, const Place& place) {
  if (text.empty()) {
    throw input_error(place, fmt::format("a number is missing in the {} set", members.noun), members.forms());
  }
  return parse_count(text, place);
}

std::vector<int> read_text(const std::string& text, const Members& members, const Place& place) {
  const std::vector<std::string> parts = split(text, ':');
  const std::vector<std::string> ends = split(parts[0], '-');
  if (parts.size() > 2 || ends.size() > 2 || (parts.size() == 2 && ends.size() == 1)) {
    throw input_error(place, fmt::format("'{}' is no {} set", text, members.noun), members.forms());
  }
  const int first = in_range(number(ends[0], members, place), members, place);
  const int last = ends.size() == 2 ? in_range(number(ends[1], members, place), members, place) : first;
  const std::int64_t stride = parts.size() == 2 ? number(parts[1], members, place) : 1;
  if (stride < 1 || last < first || (last - first) % stride != 0) {
    throw input_error(place, fmt::format("'{}' has no whole number of steps from {} to {}", text, first, last),
                      "FIRST must be below LAST, and STRIDE must divide LAST - FIRST");
  }
  std::vector<int> ranks;
  for (std::int64_t rank = first; rank <= last; rank += stride) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::vector<int> read_list(const Tree& tree, const Members& members) {
  std::vector<int> numbers;
  std::unordered_set<int> seen;
  for (const Tree& item : tree.items) {
    numbers.push_back(in_range(count_leaf()(item), members, item.place));
    if (seen.insert(numbers.back()).second) continue;
    throw input_error(item.place, fmt::format("{} {} is named twice", members.noun, numbers.back()),
                      fmt::format("Name each {} once", members.noun));
  }
  return numbers;
}

std::vector<int> read_set(const Tree& tree, const Members& members) {
  const std::string whole = kNumberPattern;
  note_form(tree, {Form::Kind::pattern, {"^" + whole + "(-" + whole + "(:" + whole + ")?)?$"}});
  note_form(tree, {Form::Kind::count, {}, Bounds::from(0)});
  note_form(tree, {Form::Kind::list, {}, Bounds::from(1)});
  if (tree.kind == Tree::Kind::scalar) return read_text(tree.scalar, members, tree.place);
  if (tree.kind == Tree::Kind::list && !tree.items.empty()) return read_list(tree, members);
  throw input_error(tree.place, fmt::format("a {} set is missing or empty", members.noun), members.forms());
}

}  // namespace

std::vector<int> read_rank_set(const Tree& tree, int world_size) {
  return read_set(tree, {world_size});
}

std::vector<int> read_node_set(const Tree& tree, int nodes) {
  return read_set(tree, {nodes, "node", "cluster"});
}

std::string rank_set_text(const std::vector<int>& ranks) {
  if (ranks.empty()) return "";
  if (ranks.size() == 1) return fmt::format("{}", ranks[0]);
  const int stride = ranks[1] - ranks[0];
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    if (stride < 1 || ranks[i] - ranks[i - 1] != stride) return "";
  }
  if (stride == 1) return fmt::format("{}-{}", ranks.front(), ranks.back());
  return fmt::format("{}-{}:{}", ranks.front(), ranks.back(), stride);
}

}  // namespace shardsim
