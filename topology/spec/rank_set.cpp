#include "topology/spec/rank_set.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/text.h"
#include "base/tree/leaf.h"
#include "base/units.h"

namespace shardsim {
namespace {

// A set of members that are numbered 0 to size - 1, with the words for it in messages.
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

Error named_twice(int number, const Members& members, const Place& place) {
  return input_error(place, fmt::format("{} {} is named twice", members.noun, number),
                     fmt::format("Name each {} once", members.noun));
}

void check_named_once(const std::vector<int>& numbers, const Members& members, const Place& place) {
  std::vector<bool> named(static_cast<std::size_t>(members.size));
  for (const int number : numbers) {
    if (named[static_cast<std::size_t>(number)]) throw named_twice(number, members, place);
    named[static_cast<std::size_t>(number)] = true;
  }
}

// A number of the text form: parse_count would point at the text but not name the forms.
std::int64_t number(const std::string& text, const Members& members, const Place& place) {
  if (text.empty()) {
    throw input_error(place, fmt::format("a number is missing in the {} set", members.noun), members.forms());
  }
  return parse_count(text, place);
}

// FIRST, FIRST + STRIDE, ... LAST.
struct Progression {
  int first = 0, last = 0;
  std::int64_t stride = 1;

  std::size_t count() const { return static_cast<std::size_t>((last - first) / stride) + 1; }
  void append_to(std::vector<int>& ranks) const {
    for (std::int64_t rank = first; rank <= last; rank += stride) ranks.push_back(static_cast<int>(rank));
  }
};

Progression read_progression(const std::string& text, const Members& members, const Place& place) {
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
  return {first, last, stride};
}

std::vector<int> read_text(const std::string& text, const Members& members, const Place& place) {
  std::vector<int> ranks;
  read_progression(text, members, place).append_to(ranks);
  return ranks;
}

// Where the ranks from `begin` on stop to be equally far apart.
std::size_t end_of_steps(const std::vector<int>& ranks, std::size_t begin) {
  std::size_t end = begin + 1;
  if (end == ranks.size() || ranks[end] <= ranks[begin]) return end;
  const int stride = ranks[end] - ranks[begin];
  while (end < ranks.size() && ranks[end] - ranks[end - 1] == stride) ++end;
  return end;
}

std::vector<int> read_list(const Tree& tree, const Members& members) {
  std::vector<int> numbers;
  std::unordered_set<int> seen;
  for (const Tree& item : tree.items) {
    numbers.push_back(in_range(count_leaf()(item), members, item.place));
    if (seen.insert(numbers.back()).second) continue;
    throw named_twice(numbers.back(), members, item.place);
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

std::string rank_sets_text(const std::vector<int>& ranks) {
  constexpr std::size_t kFewest = 3;  // of which a progression is no longer than the ranks one by one
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    end = end_of_steps(ranks, begin);
    if (end - begin < kFewest) end = begin + 1;
    if (begin > 0) text += ',';
    text += std::to_string(ranks[begin]);
    if (end == begin + 1) continue;
    text += '-' + std::to_string(ranks[end - 1]);
    const int stride = ranks[begin + 1] - ranks[begin];
    if (stride > 1) text += ':' + std::to_string(stride);
  }
  return text;
}

std::vector<int> read_rank_sets(const std::string& text, int world_size, const Place& place) {
  const Members members{world_size};
  std::vector<int> ranks;
  const std::vector<std::string> parts = split(text, ',');
  for (const std::string& part : parts) read_progression(part, members, place).append_to(ranks);
  if (parts.size() > 1) check_named_once(ranks, members, place);
  return ranks;
}

std::size_t count_in_rank_sets(const std::string& text, int world_size, const Place& place) {
  std::size_t count = 0;
  for (const std::string& part : split(text, ',')) count += read_progression(part, {world_size}, place).count();
  return count;
}

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
