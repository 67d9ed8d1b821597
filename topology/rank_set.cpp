#include "topology/rank_set.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/map_reader.h"
#include "base/text.h"

namespace shardsim {
namespace {

constexpr const char* kForms = "Write a list of ranks, or \"FIRST-LAST\", \"FIRST-LAST:STRIDE\", \"5\"";

int in_world(std::int64_t rank, int world_size, const Place& place) {
  if (rank < world_size) return static_cast<int>(rank);
  throw input_error(place, fmt::format("rank {} is outside the world of {} ranks", rank, world_size),
                    fmt::format("Ranks are 0 to {}", world_size - 1));
}

// A number of the text form: parse_count would point at the text but not name the forms.
std::int64_t number(const std::string& text, const Place& place) {
  if (text.empty()) throw input_error(place, "a rank set with a number missing", kForms);
  return parse_count(text, place);
}

std::vector<int> read_text(const std::string& text, int world_size, const Place& place) {
  const std::vector<std::string> parts = split(text, ':');
  const std::vector<std::string> ends = split(parts[0], '-');
  if (parts.size() > 2 || ends.size() > 2 || (parts.size() == 2 && ends.size() == 1)) {
    throw input_error(place, fmt::format("'{}' is no rank set", text), kForms);
  }
  const int first = in_world(number(ends[0], place), world_size, place);
  const int last = ends.size() == 2 ? in_world(number(ends[1], place), world_size, place) : first;
  const std::int64_t stride = parts.size() == 2 ? number(parts[1], place) : 1;
  if (stride < 1 || last < first || (last - first) % stride != 0) {
    throw input_error(place, fmt::format("'{}' does not step from {} to {}", text, first, last),
                      "Let FIRST be below LAST and STRIDE divide their distance");
  }
  std::vector<int> ranks;
  for (std::int64_t rank = first; rank <= last; rank += stride) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::vector<int> read_list(const Tree& tree, int world_size) {
  std::vector<int> ranks;
  std::unordered_set<int> seen;
  for (const Tree& item : tree.items) {
    const std::string& text = scalar_text(item, "a rank");
    ranks.push_back(in_world(parse_count(text, item.place), world_size, item.place));
    if (seen.insert(ranks.back()).second) continue;
    throw input_error(item.place, fmt::format("rank {} is named twice", ranks.back()), "Name each rank once");
  }
  return ranks;
}

}  // namespace

std::vector<int> read_rank_set(const Tree& tree, int world_size) {
  if (tree.kind == Tree::Kind::scalar) return read_text(tree.scalar, world_size, tree.place);
  if (tree.kind == Tree::Kind::list && !tree.items.empty()) return read_list(tree, world_size);
  throw input_error(tree.place, "a rank set is missing or empty", kForms);
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
