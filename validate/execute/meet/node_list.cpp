#include "validate/execute/meet/node_list.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/text.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostNodes = 1'000'000;

Error bad_list(std::string_view text, const Place& place, std::string_view example) {
  return input_error(place, fmt::format("{} is no list that Slurm writes", excerpt(text)),
                     fmt::format("It should look like {}", example));
}

std::optional<long> whole_number(std::string_view text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Parts between commas that are outside brackets.
std::vector<std::string_view> split_outside_brackets(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == ']') inside = text[i] == '[';
    if (text[i] != ',' || inside) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// "01-04" -> 01 02 03 04, as wide as the first one is written. False where it is no range.
bool append_range(std::string_view range, std::vector<std::string>& numbers) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::optional<long> from = whole_number(first);
  const std::optional<long> to = dash == range.npos ? from : whole_number(range.substr(dash + 1));
  if (!from || !to || *to < *from || *to - *from >= static_cast<long>(kMostNodes)) return false;
  for (long number = *from; number <= *to; ++number) numbers.push_back(fmt::format("{:0{}}", number, first.size()));
  return true;
}

// Every name so far followed by every number.
std::vector<std::string> product(const std::vector<std::string>& names, const std::vector<std::string>& numbers) {
  std::vector<std::string> all;
  for (const std::string& name : names)
    for (const std::string& number : numbers) all.push_back(name + number);
  return all;
}

// One name with its brackets; empty where it is malformed.
std::vector<std::string> expand_name(std::string_view text) {
  std::vector<std::string> names = {""};
  while (!text.empty()) {
    const std::size_t open = text.find('[');
    for (std::string& name : names) name += text.substr(0, open);
    if (open == text.npos) break;
    const std::size_t close = text.find(']', open);
    if (close == text.npos) return {};
    std::vector<std::string> numbers;
    for (std::string_view range : split_outside_brackets(text.substr(open + 1, close - open - 1)))
      if (!append_range(range, numbers)) return {};
    if (names.size() * numbers.size() > kMostNodes) return {};
    names = product(names, numbers);
    text.remove_prefix(close + 1);
  }
  return names.front().empty() || names.front().find(']') != std::string::npos ? std::vector<std::string>{} : names;
}

}  // namespace

std::vector<std::string> expand_node_list(std::string_view text, const Place& place) {
  std::vector<std::string> nodes;
  for (std::string_view part : split_outside_brackets(text)) {
    const std::vector<std::string> names = expand_name(part);
    if (names.empty()) throw bad_list(text, place, "gpu[01-04,07],x1");
    nodes.insert(nodes.end(), names.begin(), names.end());
  }
  return nodes;
}

std::vector<int> expand_tasks_per_node(std::string_view text, const Place& place) {
  std::vector<int> tasks;
  for (std::string_view part : split_outside_brackets(text)) {
    const std::size_t open = part.find("(x");
    std::optional<long> times = 1;
    if (open != part.npos) {
      if (part.back() != ')') throw bad_list(text, place, "4(x2),3");
      times = whole_number(part.substr(open + 2, part.size() - open - 3));
    }
    const std::optional<long> each = whole_number(part.substr(0, open));
    if (!each || !times || *each > 1'000'000 || *times > static_cast<long>(kMostNodes))
      throw bad_list(text, place, "4(x2),3");
    tasks.insert(tasks.end(), static_cast<std::size_t>(*times), static_cast<int>(*each));
  }
  return tasks;
}

}  // namespace shardsim
