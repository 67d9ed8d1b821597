#include "study/sweep/axis_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "study/scenario/named_tree.h"
#include "study/sweep/point_cases.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostCompanions = 16;  // points in which a value is tried before it is called wrong
constexpr std::size_t kMostRounds = 1000;    // values of an axis that are tried before it is refused

// The value with this number on this dimension.
struct TriedValue {
  std::size_t dimension = 0, value = 0;
  auto operator<=>(const TriedValue&) const = default;
};
using TriedValues = std::vector<TriedValue>;

bool holds(const Tree& tree, const Place& place) {
  if (tree.place == place) return true;
  if (tree.key_line > 0 && Place{tree.place.source, tree.key_line, tree.key_column} == place) return true;
  return std::ranges::any_of(tree.items, [&](const Tree& item) { return holds(item, place); }) ||
         std::ranges::any_of(tree.fields, [&](const auto& field) { return holds(field.second, place); });
}

// Numbers evenly spread from 0 to below `count`, at most `most` of them, the first and the last among them.
std::vector<std::size_t> spread(std::size_t count, std::size_t most) {
  std::vector<std::size_t> numbers;
  const std::size_t taken = std::min(count, most);
  for (std::size_t i = 0; i < taken; ++i) numbers.push_back(taken == 1 ? 0 : i * (count - 1) / (taken - 1));
  return numbers;
}

// Reads values beside the case as it is, which has been read and is right. Values of different axes are read together:
// one reading tells of all of them that they are right, and only where it fails they are told apart.
class AxisTrial {
 public:
  explicit AxisTrial(const Sweep& sweep) : sweep_(sweep), cases_(sweep) {}

  // Those that fail, one by one, with what is wrong.
  std::map<TriedValue, Error> failures(TriedValues values) {
    std::map<TriedValue, Error> failed;
    std::vector<TriedValues> groups = {std::move(values)};
    while (!groups.empty() && failed.size() < kMostWrongValues) {
      const TriedValues group = std::move(groups.back());
      groups.pop_back();
      const std::optional<Error> why = failure(group);
      if (why && group.size() == 1) failed.emplace(group.front(), *why);
      if (why && group.size() > 1) part(group, *why, groups);
    }
    return failed;
  }

  // Returns why no point that has the value can be read; nothing where one can, or no point has it. Some points stand
  // for all.
  std::optional<Error> fault(const TriedValue& tried, Error why) {
    bool has_points = false;
    for (const std::size_t point : points_with(tried)) {
      has_points = true;
      const std::optional<Error> here = cases_.failure_at(cases_.all_of(point));
      if (!here) return std::nullopt;
      if (!is_of(tried, why.place()) && is_of(tried, here->place())) why = *here;
    }
    if (!has_points) return std::nullopt;
    return why;
  }

  // True when the place is in the value itself or in a file that it names. Elsewhere it is not the value that is wrong
  // but how it meets others, as a batch that the number of GPUs does not divide: such a point fails by itself.
  bool is_of(const TriedValue& tried, const Place& place) const {
    const std::vector<Axis>& axes = sweep_.dimensions[tried.dimension].axes;
    return std::ranges::any_of(axes, [&](const Axis& axis) {
      return holds(axis.values[tried.value].tree, place) || (is_named(axis.path) && place.source != axis.place.source);
    });
  }

  // Tells what is wrong with a value, at its place in the sweep also where something that the value changes says so.
  Error told(const TriedValue& tried, const Error& fault) const {
    const Axis& axis = sweep_.dimensions[tried.dimension].axes.front();
    if (is_of(tried, fault.place()) || fault.place().source == axis.place.source) return fault;
    return {fault.failure(), axis.values[tried.value].tree.place,
            fmt::format("with this value of '{}': {}", axis.path, fault.what()), ""};
  }

 private:
  using Coordinates = PointCases::Coordinates;

  std::optional<Error> failure(const TriedValues& values) {
    Coordinates at(sweep_.dimensions.size());
    for (const TriedValue& tried : values) at[tried.dimension] = tried.value;
    return cases_.failure_at(at);
  }

  // The value that the place accuses and all others; else one half and the other.
  void part(const TriedValues& group, const Error& why, std::vector<TriedValues>& groups) const {
    const auto accused =
        std::ranges::find_if(group, [&](const TriedValue& tried) { return is_of(tried, why.place()); });
    if (accused == group.end()) {
      const auto middle = group.begin() + std::ssize(group) / 2;
      groups.push_back({middle, group.end()});
      groups.push_back({group.begin(), middle});
      return;
    }
    TriedValues others = group;
    std::erase(others, *accused);
    groups.push_back(std::move(others));
    groups.push_back({*accused});
  }

  std::vector<std::size_t> points_with(const TriedValue& tried) const {
    std::size_t stride = 1;
    for (std::size_t d = tried.dimension + 1; d < sweep_.dimensions.size(); ++d)
      stride *= sweep_.dimensions[d].length();
    std::vector<std::size_t> all, some;
    for (std::size_t point = 0; point < sweep_.points.size(); ++point) {
      const std::size_t at = sweep_.points[point] / stride % sweep_.dimensions[tried.dimension].length();
      if (at == tried.value) all.push_back(point);
    }
    for (const std::size_t number : spread(all.size(), kMostCompanions)) some.push_back(all[number]);
    return some;
  }

  const Sweep& sweep_;
  PointCases cases_;
};

// The values of a dimension that are read: of those at one place, as a range has them, the first stands for all, and
// the last of the dimension is read in any case.
std::vector<std::size_t> tried_values(const SweepDimension& dimension) {
  std::vector<std::size_t> numbers;
  std::vector<std::set<std::pair<int, int>>> seen(dimension.axes.size());
  for (std::size_t value = 0; value < dimension.length(); ++value) {
    bool is_new = value + 1 == dimension.length();
    for (std::size_t a = 0; a < dimension.axes.size(); ++a) {
      const Place& place = dimension.axes[a].values[value].tree.place;
      is_new = seen[a].insert({place.line, place.column}).second || is_new;
    }
    if (is_new) numbers.push_back(value);
  }
  return numbers;
}

std::string without_place(const Error& error) {
  const std::string where = error.place().text() + ": ", text = error.what();
  return text.starts_with(where) ? text.substr(where.size()) : text;
}

// One error for each place: both ends of a range lie at that of the range. Where no value is right, one for each text:
// it is the path that leads nowhere.
std::vector<Error> told_once(const std::vector<Error>& errors, bool hopeless) {
  std::vector<Error> some;
  std::set<std::string> told;
  for (const Error& error : errors)
    if (told.insert(hopeless ? without_place(error) : error.place().text()).second) some.push_back(error);
  return some;
}

using ValueNumbers = std::vector<std::vector<std::size_t>>;  // by dimension

// All dimensions' first values are read together, then their second ones, and so on.
std::map<TriedValue, Error> failures_of(const ValueNumbers& numbers, AxisTrial& trial) {
  std::size_t rounds = 0, left = kMostTriedValues;
  for (const std::vector<std::size_t>& each : numbers) rounds = std::max(rounds, each.size());
  std::map<TriedValue, Error> failed;
  for (std::size_t round = 0; round < rounds && left > 0 && failed.size() < kMostWrongValues; ++round) {
    TriedValues values;
    for (std::size_t d = 0; d < numbers.size(); ++d)
      if (round < numbers[d].size()) values.push_back({d, numbers[d][round]});
    left -= std::min(left, values.size());
    failed.merge(trial.failures(std::move(values)));
  }
  return failed;
}

// Returns the errors on a dimension of which so many values were read.
std::vector<Error> wrong_on(std::size_t dimension, std::size_t values, const std::map<TriedValue, Error>& failed,
                            AxisTrial& trial) {
  std::vector<Error> own, all;
  for (auto at = failed.lower_bound({dimension, 0}); at != failed.end() && at->first.dimension == dimension; ++at) {
    const std::optional<Error> fault = trial.fault(at->first, at->second);
    if (!fault) continue;
    all.push_back(trial.told(at->first, *fault));
    if (trial.is_of(at->first, fault->place())) own.push_back(all.back());
  }
  const bool hopeless = !all.empty() && all.size() == values;
  if (own.empty() && hopeless) own.push_back(all.front());
  return told_once(own, hopeless);
}

}  // namespace

void refuse_hopeless_axes(const Sweep& sweep) {
  AxisTrial trial(sweep);
  TriedValues pending;
  for (std::size_t d = 0; d < sweep.dimensions.size(); ++d) pending.push_back({d, 0});
  std::map<std::size_t, Error> first;  // by dimension
  for (std::size_t round = 0; round < kMostRounds && !pending.empty(); ++round) {
    const std::map<TriedValue, Error> failed = trial.failures(std::move(pending));
    pending.clear();
    for (const auto& [tried, why] : failed) {
      const Error& known = first.emplace(tried.dimension, why).first->second;
      if (tried.value + 1 < sweep.dimensions[tried.dimension].length()) {
        pending.push_back({tried.dimension, tried.value + 1});
      } else if (const auto fault = trial.fault({tried.dimension, 0}, known); fault && trial.fault(tried, why)) {
        throw trial.told({tried.dimension, 0}, *fault);
      }
    }
  }
  for (const TriedValue& tried : pending) throw first.at(tried.dimension);
}

std::vector<Error> wrong_values(const Sweep& sweep) {
  AxisTrial trial(sweep);
  ValueNumbers numbers;
  for (const SweepDimension& dimension : sweep.dimensions) numbers.push_back(tried_values(dimension));
  const std::map<TriedValue, Error> failed = failures_of(numbers, trial);
  std::vector<Error> wrong;
  for (std::size_t d = 0; d < numbers.size(); ++d)
    std::ranges::move(wrong_on(d, numbers[d].size(), failed, trial), std::back_inserter(wrong));
  return wrong;
}

}  // namespace shardsim
