#include "study/sweep/read_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/files.h"
#include "base/text.h"
#include "base/tree/map_reader.h"
#include "base/tree/yaml.h"
#include "study/scenario/dropped_edits.h"
#include "study/scenario/included_files.h"
#include "study/scenario/named_tree.h"
#include "study/scenario/scenario.h"
#include "study/sweep/axis_trial.h"
#include "study/sweep/filter.h"

namespace shardsim {
namespace {

// The case that the axes change: where none is named the only one of the file itself, else the only one that there is.
CaseTree base_case(const Tree& scenario, std::vector<CaseTree> cases, std::vector<CaseTree> included,
                   const std::string& wanted) {
  if (!wanted.empty() || cases.size() != 1) std::ranges::move(included, std::back_inserter(cases));
  std::vector<std::string> names;
  for (const CaseTree& tree : cases) names.push_back(tree.name);
  const Place place = scenario.find("sweep")->place;
  if (wanted.empty() && cases.size() != 1) {
    throw input_error(place, fmt::format("the file has {} cases, but a sweep varies only one", cases.size()),
                      "Write 'case: NAME' in 'sweep', or give --case NAME. Cases: " + join(names));
  }
  const auto found = wanted.empty() ? cases.begin() : std::ranges::find(cases, wanted, &CaseTree::name);
  if (found == cases.end())
    throw input_error(place, "unknown case " + excerpt(wanted), known_names_hint(wanted, names));
  if (found->job || found->compared || found->again) {
    throw input_error(
        place, fmt::format("case {} belongs to a group of cases, which a sweep cannot vary", excerpt(found->name)),
        "Choose a case without 'jobs', 'planners' and 'repeat'; the planner may be an axis");
  }
  return std::move(*found);
}

// The axes of a map from path to values.
std::vector<Axis> axes_of(const Tree& map, const std::string& key,
                          const std::function<Axis(const std::string&, const Tree&)>& read) {
  note_form(map, stated_map(1));
  if (map.kind != Tree::Kind::map || map.fields.empty()) {
    throw input_error(map.place, fmt::format("'{}' has no axes", key),
                      "Write PATH: VALUES, for example cluster.nodes: [2, 4, 8]");
  }
  std::vector<Axis> axes;
  for (const auto& [path, values] : map.fields) axes.push_back(read(path, values));
  return axes;
}

// True when the value says itself what is at this path below it; a text says the `name` of what it names.
bool states_path(const Tree& value, std::string_view path) {
  const std::size_t dot = path.find('.');
  if (value.kind == Tree::Kind::scalar) return path == "name";
  const Tree* const field = value.find(path.substr(0, dot));
  return field != nullptr && (dot == std::string_view::npos || states_path(*field, path.substr(dot + 1)));
}

// Returns whether the path of a table's key names the table by number, and the path without it.
std::optional<std::pair<bool, std::string>> table_of_path(const std::string& path) {
  constexpr std::string_view kTables = "workload.tables.";
  if (!path.starts_with(kTables)) return std::nullopt;
  const std::size_t end = std::min(path.find('.', kTables.size()), path.size());
  const std::string table = path.substr(kTables.size(), end - kTables.size());
  return std::pair{table.find_first_not_of("0123456789") == std::string::npos, path.substr(end)};
}

class SweepReader {
 public:
  SweepReader(const Tree& stated, std::uint64_t most, Sweep& sweep) : stated_(stated), most_(most), sweep_(sweep) {}

  void read() {
    MapReader reader(stated_, "sweep");
    reader.text("case", "");
    sweep_.keep_plan = reader.flag("keep_plan", false);
    if (const Tree* const axes = reader.value("axes")) {
      for (Axis& axis : read_axes(*axes, "sweep.axes")) {
        refuse_twice({&axis, 1});
        sweep_.dimensions.push_back({{std::move(axis)}});
      }
    }
    if (const Tree* const zip = reader.value("zip")) read_zip(*zip);
    if (reader.has("random")) read_random(reader.map("random"));
    const Tree* const where = reader.value("where");
    reader.finish();
    if (sweep_.dimensions.empty())
      throw input_error(stated_.place, "the sweep has no axes", "Write 'axes: {cluster.nodes: [2, 4, 8]}' in 'sweep'");
    refuse_double_axes();
    count_points();
    if (where != nullptr) read_where(*where);
    leave_out();
  }

 private:
  std::vector<Axis> read_axes(const Tree& map, const std::string& key) const {
    return axes_of(map, key,
                   [&](const std::string& path, const Tree& values) { return read_axis(path, values, most_); });
  }

  void read_zip(const Tree& zip) {
    note_form(zip, {Form::Kind::list});
    note_form(zip, stated_map(1));
    const std::vector<Tree> groups = zip.kind == Tree::Kind::list ? zip.items : std::vector<Tree>{zip};
    for (const Tree& group : groups) {
      SweepDimension dimension{read_axes(group, "sweep.zip")};
      for (const Axis& axis : dimension.axes) {
        if (axis.values.size() == dimension.length()) continue;
        throw input_error(axis.place,
                          fmt::format("zipped axes have {} and {} values", dimension.length(), axis.values.size()),
                          "Zipped axes change together: give each the same number of values");
      }
      refuse_twice(dimension.axes);
      sweep_.dimensions.push_back(std::move(dimension));
    }
  }

  void read_random(MapReader reader) {
    const auto points = static_cast<std::uint64_t>(reader.count("points"));
    const auto seed =
        static_cast<std::uint64_t>(reader.count("seed", Bounds::from(0), static_cast<std::int64_t>(sweep_.seed)));
    if (points > most_) refuse_count(static_cast<double>(points), reader.place_of("points"));
    SweepDimension dimension;
    dimension.drawn = true;
    std::uint64_t stream = 0;
    dimension.axes =
        axes_of(reader.required("axes"), "sweep.random.axes", [&](const std::string& path, const Tree& values) {
          return draw_axis(path, values, static_cast<std::size_t>(points), seed, stream++);
        });
    reader.finish();
    sweep_.dimensions.push_back(std::move(dimension));
  }

  // Where two axes change one value, points have the names of both and the value of one.
  void refuse_double_axes() const {
    std::map<std::string, const Axis*> axes;
    std::map<std::string, bool> by_number;  // of axes over one key of tables, whether they name these by number
    for (const SweepDimension& dimension : sweep_.dimensions) {
      for (const Axis& axis : dimension.axes) {
        if (!axes.emplace(axis.path, &axis).second)
          throw input_error(axis.place, fmt::format("two axes have the name {}", excerpt(axis.path)), "Keep one");
        const auto table = table_of_path(axis.path);
        if (!table || by_number.emplace(table->second, table->first).first->second == table->first) continue;
        throw input_error(axis.place, fmt::format("axis {} and another one may be of one table", excerpt(axis.path)),
                          "Name the tables of all axes by number, or all by name");
      }
    }
    for (const auto& [path, axis] : axes) refuse_overwritten(*axis, axes);
  }

  static void refuse_overwritten(const Axis& axis, const std::map<std::string, const Axis*>& axes) {
    for (std::size_t dot = axis.path.find('.'); dot != std::string::npos; dot = axis.path.find('.', dot + 1)) {
      const auto outer = axes.find(axis.path.substr(0, dot));
      if (outer == axes.end()) continue;
      const auto stated = std::ranges::find_if(outer->second->values, [&, dot](const AxisValue& value) {
        return states_path(value.tree, std::string_view(axis.path).substr(dot + 1));
      });
      if (stated == outer->second->values.end()) continue;
      throw input_error(axis.place,
                        fmt::format("axis {} changes what the value {} of axis {} states", excerpt(axis.path),
                                    excerpt(stated->text), excerpt(outer->first)),
                        "Leave it out of the value, or drop the axis");
    }
  }

  [[noreturn]] void refuse_count(double count, const Place& place) const {
    const std::string shape = sweep_.dimensions.size() > 1 ? " (" + sweep_.shape() + ")" : "";
    const std::string number =
        count < 1e15 ? with_thousands(static_cast<std::int64_t>(count)) : fmt::format("{:.3g}", count);
    throw input_error(place,
                      fmt::format("the sweep has {} points{}, and {} are allowed", number, shape,
                                  with_thousands(static_cast<std::int64_t>(most_))),
                      "Take fewer values, draw some by 'random', or allow more by --most-points");
  }

  void count_points() {
    double count = 1;
    for (const SweepDimension& dimension : sweep_.dimensions) count *= static_cast<double>(dimension.length());
    if (count > static_cast<double>(most_)) refuse_count(count, stated_.place);
    sweep_.product = static_cast<std::uint64_t>(count);
    for (std::uint32_t point = 0; point < sweep_.product; ++point) sweep_.points.push_back(point);
  }

  void read_where(const Tree& where) {
    note_form(where, {Form::Kind::list});
    note_form(where, condition_form());
    const std::vector<Tree> conditions = where.kind == Tree::Kind::list ? where.items : std::vector<Tree>{where};
    for (const Tree& condition : conditions) filters_.emplace_back(condition);
  }

  // The axes by their paths, each with its dimension.
  using AxesByName = std::unordered_map<std::string, std::pair<std::size_t, const Axis*>>;
  AxesByName axes_by_name() const {
    AxesByName axes;
    for (std::size_t d = 0; d < sweep_.dimensions.size(); ++d)
      for (const Axis& axis : sweep_.dimensions[d].axes) axes.emplace(axis.path, std::pair{d, &axis});
    return axes;
  }

  std::optional<FilterValue> value_at(const std::string& name, const AxesByName& axes,
                                      const std::vector<std::size_t>& at) const {
    const auto found = axes.find(name);
    if (found == axes.end()) return value_of_base(name);
    const AxisValue& value = found->second.second->values[at[found->second.first]];
    return value.amount ? FilterValue(*value.amount) : FilterValue(value.text);
  }

  std::optional<FilterValue> value_of_base(const std::string& name) const {
    const Tree* tree = &sweep_.base.keys;
    for (const std::string& part : split(name, '.')) {
      if (tree != nullptr && tree->kind == Tree::Kind::map)
        tree = tree->find(part);
      else
        return std::nullopt;
    }
    if (tree != nullptr && is_sourced_value(*tree)) tree = tree->find("value");
    if (tree == nullptr || tree->kind != Tree::Kind::scalar) return std::nullopt;
    if (const auto amount = amount_of(tree->scalar)) return FilterValue(*amount);
    return FilterValue(tree->scalar);
  }

  void leave_out() {
    if (filters_.empty()) return;
    const AxesByName axes = axes_by_name();
    std::vector<std::uint32_t> left;
    for (std::size_t point = 0; point < sweep_.points.size(); ++point) {
      const std::vector<std::size_t> at = sweep_.coordinates(point);
      const NamedValues values = [&](const std::string& name) { return value_at(name, axes, at); };
      if (std::ranges::all_of(filters_, [&](const Filter& filter) { return filter.holds(values); }))
        left.push_back(sweep_.points[point]);
    }
    if (left.empty())
      throw input_error(stated_.find("where")->place,
                        fmt::format("none of the {} points meets the conditions", sweep_.product), "Loosen them");
    sweep_.points = std::move(left);
  }

  const Tree& stated_;
  std::uint64_t most_;
  Sweep& sweep_;
  std::vector<Filter> filters_;
};

void refuse_idle_settings(const Sweep& sweep, const Overrides& overrides) {
  for (const SweepDimension& dimension : sweep.dimensions) {
    for (const Axis& axis : dimension.axes) {
      const auto same = [&](const auto& setting) {
        return setting.first == axis.path || setting.first.starts_with(axis.path + ".");
      };
      const auto idle = std::ranges::find_if(overrides.set, same);
      if (idle == overrides.set.end()) continue;
      throw input_error({"argument --set " + idle->first}, "the sweep varies this value itself, as one of its axes",
                        "Leave it out, or change the axis");
    }
  }
}

std::vector<const Axis*> all_axes(const Sweep& sweep) {
  std::vector<const Axis*> axes;
  for (const SweepDimension& dimension : sweep.dimensions)
    for (const Axis& axis : dimension.axes) axes.push_back(&axis);
  return axes;
}

// Returns what the case states beside its cluster's or its workload's base, and loses where an axis has this value.
std::set<std::string> lost_of_value(const Tree& before, const Tree& value, const std::string& key,
                                    const std::string& folder, const std::string& file) {
  try {
    const std::vector<std::string> lost = lost_edits(before, whole_tree(value, key + "s", folder), {file});
    return {lost.begin(), lost.end()};
  } catch (const Error&) {  // the points of this value say what is wrong with it
    return {};
  }
}

}  // namespace

bool has_sweep(const std::string& scenario_text, const std::string& path) {
  return parse_yaml(scenario_text, path).find("sweep") != nullptr;
}

Sweep read_sweep(const std::string& path, const Overrides& overrides, const SweepRequest& request) {
  return sweep_from_text(read_file(path), path, overrides, request);
}

Sweep sweep_from_text(const std::string& text, const std::string& path, const Overrides& overrides,
                      const SweepRequest& request) {
  return sweep_from_tree(parse_yaml(text, path), text, path, overrides, request);
}

Sweep sweep_from_tree(const Tree& tree, const std::string& text, const std::string& path, const Overrides& overrides,
                      const SweepRequest& request) {
  const Scenario scenario = scenario_from_tree(tree, text, path, overrides);
  if (tree.find("sweep") == nullptr) {
    throw input_error(tree.place, "the scenario has no 'sweep'",
                      "Write 'sweep: {axes: {cluster.nodes: [2, 4, 8]}}'; docs/sweeps.md says more");
  }
  const Tree stated = top_value(tree, "sweep", overrides);
  note_form(stated, stated_map(1));
  if (stated.kind != Tree::Kind::map)
    throw input_error(stated.place, fmt::format("'sweep' must be a map, but is {}", kind_name(stated.kind)),
                      "Write 'sweep: {axes: {PATH: VALUES}}'");
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::string wanted = request.only_case;
  if (wanted.empty()) wanted = MapReader(stated, "sweep").text("case", "");
  Sweep sweep;
  sweep.path = path;
  sweep.title = scenario.title;
  sweep.seed = scenario.seed;
  sweep.base = base_case(tree, case_trees(tree, folder, overrides, scenario.seed).cases,
                         included_case_trees(tree, path, overrides, scenario.seed), wanted);
  SweepReader(stated, std::min(request.most_points, kMostAllowedPoints), sweep).read();
  refuse_idle_settings(sweep, overrides);
  if (!request.keep_hopeless_axes) refuse_hopeless_axes(sweep);
  return sweep;
}

std::vector<std::string> dropped_by_axes(const Sweep& sweep) {
  const std::string folder = std::filesystem::path(sweep.path).parent_path().string();
  std::vector<std::string> sentences;
  const std::vector<const Axis*> axes = all_axes(sweep);
  for (const Axis* const axis : axes) {
    const Tree* const before = is_named(axis->path) ? sweep.base.keys.find(axis->path) : nullptr;
    if (before == nullptr) continue;
    std::set<std::string> lost;
    for (const AxisValue& value : axis->values)
      lost.merge(lost_of_value(*before, value.tree, axis->path, folder, sweep.base.place.source));
    std::erase_if(lost, [&](const std::string& path) {
      const std::string whole = axis->path + "." + path;
      return std::ranges::any_of(axes, [&](const Axis* other) {
        return other != axis && (other->path == whole || whole.starts_with(other->path + "."));
      });
    });
    if (lost.empty()) continue;
    sentences.push_back(fmt::format(
        "the axis {} replaces the whole {} of {}; dropped with it: {}. An axis {}.{} of one value keeps one of them",
        axis->path, axis->path, sweep.base.name, join({lost.begin(), lost.end()}), axis->path, *lost.begin()));
  }
  return sentences;
}

}  // namespace shardsim
