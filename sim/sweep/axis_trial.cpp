#include "sim/sweep/axis_trial.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "sim/scenario/named_tree.h"
#include "sim/sweep/point_cases.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostCompanions = 16;  // points in which a value is tried before it is called wrong
constexpr std::size_t kMostRounds = 1000;    // values of an axis that are tried before it is refused
constexpr std::size_t kMostStarts = 1000;    // points that are tried where the case itself cannot be read

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

// Reads values beside a case that is known to be right. Values of different axes are read together: one reading tells
// of all of them that they are right, and only where it fails they are told apart.
class AxisTrial {
 public:
  explicit AxisTrial(const Sweep& sweep) : sweep_(sweep), cases_(sweep), beside_(readable()) {}

  // Those that fail, one by one, with what is wrong.
  std::map<TriedValue, Error> failures(TriedValues choices) {
    std::map<TriedValue, Error> failed;
    std::vector<TriedValues> groups = {std::move(choices)};
    while (!groups.empty() && failed.size() < kMostWrongValues) {
      const TriedValues group = std::move(groups.back());
      groups.pop_back();
      const std::optional<Error> why = failure(group);
      if (why && group.size() == 1) failed.emplace(group.front(), *why);
      if (why && group.size() > 1) part(group, *why, groups);
    }
    return failed;
  }

  // Why no point that has the value can be read; nothing where one can, or no point has it. Some points stand for all.
  std::optional<Error> fault(const TriedValue& choice, Error why) {
    bool has_points = false;
    for (const std::size_t point : points_with(choice)) {
      has_points = true;
      const std::optional<Error> here = cases_.failure_at(cases_.all_of(point));
      if (!here) return std::nullopt;
      if (!is_of(choice, why.place()) && is_of(choice, here->place())) why = *here;
    }
    if (!has_points || !cases_.failure_at(alone(choice))) return std::nullopt;
    return why;
  }

  // Whether the place is in the value itself or in a file that it names. Elsewhere it is not the value that is wrong
  // but how it meets others, as a batch that the number of GPUs does not divide: such a point fails by itself.
  bool is_of(const TriedValue& choice, const Place& place) const {
    const std::vector<Axis>& axes = sweep_.dimensions[choice.dimension].axes;
    return std::ranges::any_of(axes, [&](const Axis& axis) {
      return holds(axis.values[choice.value].tree, place) || (is_named(axis.path) && place.source != axis.place.source);
    });
  }

 private:
  using Coordinates = PointCases::Coordinates;

  // The case as it is, else a point of the sweep. Errors: none can be read, as the first point has it.
  Coordinates readable() {
    const Coordinates base(sweep_.dimensions.size());
    if (!cases_.failure_at(base)) return base;
    std::optional<Error> first;
    for (const std::size_t point : spread(sweep_.points.size(), kMostStarts)) {
      const Coordinates at = cases_.all_of(point);
      const std::optional<Error> why = cases_.failure_at(at);
      if (!why) return at;
      if (!first) first = why;
    }
    throw *first;
  }

  std::optional<Error> failure(const TriedValues& choices) {
    Coordinates at = beside_;
    for (const TriedValue& choice : choices) at[choice.dimension] = choice.value;
    return cases_.failure_at(at);
  }

  // The value that the place accuses and all others; else one half and the other.
  void part(const TriedValues& group, const Error& why, std::vector<TriedValues>& groups) const {
    const auto accused =
        std::ranges::find_if(group, [&](const TriedValue& choice) { return is_of(choice, why.place()); });
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

  Coordinates alone(const TriedValue& choice) const {
    Coordinates at(sweep_.dimensions.size());
    at[choice.dimension] = choice.value;
    return at;
  }

  std::vector<std::size_t> points_with(const TriedValue& choice) const {
    std::size_t stride = 1;
    for (std::size_t d = choice.dimension + 1; d < sweep_.dimensions.size(); ++d)
      stride *= sweep_.dimensions[d].length();
    std::vector<std::size_t> all, some;
    for (std::size_t point = 0; point < sweep_.points.size(); ++point) {
      const std::size_t at = sweep_.points[point] / stride % sweep_.dimensions[choice.dimension].length();
      if (at == choice.value) all.push_back(point);
    }
    for (const std::size_t number : spread(all.size(), kMostCompanions)) some.push_back(all[number]);
    return some;
  }

  const Sweep& sweep_;
  PointCases cases_;
  const Coordinates beside_;
};

// The values of a dimension that are read: of those at one place, as a range has them, the first stands for all, and
// the last of the dimension is read in any case.
std::vector<std::size_t> tried_values(const SweepDimension& dimension) {
  std::vector<std::size_t> tried;
  std::vector<std::set<std::pair<int, int>>> seen(dimension.axes.size());
  for (std::size_t value = 0; value < dimension.length(); ++value) {
    bool is_new = value + 1 == dimension.length();
    for (std::size_t a = 0; a < dimension.axes.size(); ++a) {
      const Place& place = dimension.axes[a].values[value].tree.place;
      is_new = seen[a].insert({place.line, place.column}).second || is_new;
    }
    if (is_new) tried.push_back(value);
  }
  return tried;
}

// One error for each place: both ends of a range lie at that of the range.
std::vector<Error> at_own_places(const std::vector<Error>& errors) {
  std::vector<Error> some;
  std::set<std::string> places;
  for (const Error& error : errors)
    if (places.insert(error.place().text()).second) some.push_back(error);
  return some;
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
    for (const auto& [choice, why] : failed) {
      const Error& known = first.emplace(choice.dimension, why).first->second;
      if (choice.value + 1 < sweep.dimensions[choice.dimension].length()) {
        pending.push_back({choice.dimension, choice.value + 1});
      } else if (const auto fault = trial.fault({choice.dimension, 0}, known); fault && trial.fault(choice, why)) {
        throw *fault;
      }
    }
  }
  for (const TriedValue& choice : pending) throw first.at(choice.dimension);
}

std::vector<Error> wrong_values(const Sweep& sweep) {
  AxisTrial trial(sweep);
  std::vector<std::vector<std::size_t>> tried;
  std::size_t rounds = 0, left = kMostTriedValues;
  for (const SweepDimension& dimension : sweep.dimensions) {
    tried.push_back(tried_values(dimension));
    rounds = std::max(rounds, tried.back().size());
  }
  std::map<TriedValue, Error> failed;
  for (std::size_t round = 0; round < rounds && left > 0 && failed.size() < kMostWrongValues; ++round) {
    TriedValues choices;
    for (std::size_t d = 0; d < tried.size(); ++d)
      if (round < tried[d].size()) choices.push_back({d, tried[d][round]});
    left -= std::min(left, choices.size());
    failed.merge(trial.failures(std::move(choices)));
  }
  std::vector<Error> wrong;
  for (const auto& [choice, why] : failed) {
    const std::optional<Error> fault = trial.fault(choice, why);
    if (fault && trial.is_of(choice, fault->place())) wrong.push_back(*fault);
  }
  return at_own_places(wrong);
}

}  // namespace shardsim
