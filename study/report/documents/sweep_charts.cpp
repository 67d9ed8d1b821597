#include "study/report/documents/sweep_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "study/report/wording.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostCellsOfAxis = 60, kMostScattered = 2000, kMostLines = 12;

std::vector<std::size_t> all_dimensions(const Sweep& sweep) {
  std::vector<std::size_t> all;
  for (std::size_t d = 0; d < sweep.dimensions.size(); ++d) all.push_back(d);
  return all;
}

std::vector<std::size_t> without(std::vector<std::size_t> all, const std::vector<std::size_t>& some) {
  std::erase_if(all, [&](std::size_t d) { return std::ranges::find(some, d) != some.end(); });
  return all;
}

std::string dimension_title(const SweepDimension& dimension) {
  std::vector<std::string> paths;
  for (const Axis& axis : dimension.axes) paths.push_back(axis.path);
  return join(paths);
}

std::string value_text(const SweepDimension& dimension, std::size_t value) {
  std::vector<std::string> texts;
  for (const Axis& axis : dimension.axes) texts.push_back(axis.values[value].text);
  return join(texts);
}

// Returns the point of a cell that has most samples per second, of equal ones the first.
std::size_t best_of(const SweepResult& result, const std::vector<std::size_t>& points) {
  return *std::ranges::max_element(
      points, {}, [&](std::size_t point) { return result.ok(point) ? result.at(point).samples_per_s : -1; });
}

std::string sure_text(const SweepResult& result, const std::vector<std::size_t>& points,
                      const std::vector<std::size_t>& others) {
  const std::optional<PointChoice> choice = choice_among(result.results, points);
  if (!choice) return "";
  return fmt::format("faster than {} with a chance of {} %; expected regret at most {} %",
                     point_text(result, choice->runner_up, others), chance_cell(choice->chance),
                     regret_cell(choice->regret_pct));
}

// Returns the dimensions that name a line of the chart of scaling: all but the size of the machine.
std::vector<std::size_t> line_dimensions(const SweepResult& result) {
  std::vector<std::size_t> named = all_dimensions(*result.sweep);
  std::erase_if(named, [&](std::size_t d) {
    return result.changes_world[d] && std::ranges::none_of(result.sweep->dimensions[d].axes, &Axis::tells_machines);
  });
  return named;
}

DataSet::Cell number_or_none(const std::optional<double>& number) {
  return number ? DataSet::Cell(*number) : DataSet::Cell("-");
}

}  // namespace

std::string point_text(const SweepResult& result, std::size_t point, const std::vector<std::size_t>& dimensions) {
  const std::vector<std::size_t> at = result.sweep->coordinates(point);
  std::vector<std::string> texts;
  for (const std::size_t d : dimensions) texts.push_back(value_text(result.sweep->dimensions[d], at[d]));
  return join(texts);
}

std::vector<std::size_t> drawn_dimensions(const Sweep& sweep) {
  std::vector<std::size_t> drawn = all_dimensions(sweep);
  std::erase_if(drawn, [&](std::size_t d) {
    const SweepDimension& each = sweep.dimensions[d];
    return each.drawn || each.length() > kMostCellsOfAxis || each.length() < 2;
  });
  // Names of planners and the like are told as the best of a cell, unless nothing else is there.
  const auto is_number = [&](std::size_t d) {
    return sweep.dimensions[d].axes.front().values.front().amount.has_value();
  };
  std::ranges::stable_sort(drawn, [&](std::size_t a, std::size_t b) {
    return std::pair(is_number(a), sweep.dimensions[a].length()) >
           std::pair(is_number(b), sweep.dimensions[b].length());
  });
  if (drawn.size() > 2) drawn.resize(2);
  std::ranges::sort(drawn);
  return drawn;
}

DataSet sweep_cells(const SweepResult& result) {
  DataSet set{"cells",
              {"x_axis", "x", "x_order", "y_axis", "y", "y_order", "samples_per_s", "iteration_ms", "limited_by",
               "best", "within", "sure"},
              {}};
  const Sweep& sweep = *result.sweep;
  const std::vector<std::size_t> drawn = drawn_dimensions(sweep);
  if (drawn.empty()) return set;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> cells;  // the points of each
  for (std::size_t point = 0; point < result.results.size(); ++point) {
    const std::vector<std::size_t> at = sweep.coordinates(point);
    cells[{at[drawn.front()], drawn.size() > 1 ? at[drawn[1]] : 0}].push_back(point);
  }
  const std::vector<std::size_t> others = without(all_dimensions(sweep), drawn);
  for (const auto& cell : cells) {
    const std::size_t x = cell.first.first, y = cell.first.second, point = best_of(result, cell.second);
    const bool two = drawn.size() > 1, ok = result.ok(point);
    const PointResult& here = result.at(point);
    const SweepDimension& across = sweep.dimensions[drawn.front()];
    const std::string up = two ? dimension_title(sweep.dimensions[drawn[1]]) : "";
    set.rows.push_back(
        {dimension_title(across), value_text(across, x), static_cast<double>(x), up,
         two ? value_text(sweep.dimensions[drawn[1]], y) : "", static_cast<double>(y), ok ? here.samples_per_s : 0.0,
         ok ? here.iteration_ms : 0.0, here.limited_by, ok ? point_text(result, point, others) : "",
         ok && here.interval ? interval_cell(*here.interval) : "", sure_text(result, cell.second, others)});
  }
  return set;
}

DataSet sweep_points(const SweepResult& result) {
  DataSet set{"points",
              {"gpus", "iteration_ms", "low_ms", "high_ms", "samples_per_s", "memory_gib", "cost", "scaling_pct",
               "host_gib", "fits", "limited_by"},
              {}};
  for (const SweepDimension& dimension : result.sweep->dimensions)
    for (const Axis& axis : dimension.axes) set.columns.push_back(axis.path);
  const std::size_t step = 1 + result.results.size() / kMostScattered;
  for (std::size_t point = 0; point < result.results.size(); ++point) {
    if (!result.ok(point) || (!result.pareto[point] && point % step != 0)) continue;
    const PointResult& here = result.at(point);
    std::optional<double> scaling = result.scaling_efficiency[point];
    if (scaling) *scaling *= 100;
    std::vector<DataSet::Cell> row = {static_cast<double>(here.world_size),
                                      here.iteration_ms,
                                      here.interval ? DataSet::Cell(here.interval->low_ms) : DataSet::Cell("-"),
                                      here.interval ? DataSet::Cell(here.interval->high_ms) : DataSet::Cell("-"),
                                      here.samples_per_s,
                                      static_cast<double>(here.peak_bytes) / 0x1p30,
                                      number_or_none(result.cost_per_million_samples(point)),
                                      number_or_none(scaling),
                                      static_cast<double>(here.host_bytes) / 0x1p30,
                                      here.runs_out_of_memory() ? "over" : "yes",
                                      here.limited_by};
    const std::vector<std::size_t> at = result.sweep->coordinates(point);
    for (std::size_t d = 0; d < at.size(); ++d)
      for (const Axis& axis : result.sweep->dimensions[d].axes) row.emplace_back(axis.values[at[d]].text);
    set.rows.push_back(std::move(row));
  }
  return set;
}

DataSet sweep_scaling(const SweepResult& result) {
  DataSet set{"points", {"group", "gpus", "efficiency_pct", "samples_per_s", "names"}, {}};
  const std::vector<std::size_t> named = line_dimensions(result);
  std::vector<std::string> titles;
  for (const std::size_t d : named) titles.push_back(dimension_title(result.sweep->dimensions[d]));
  std::map<std::string, double> best;  // samples per second of each group
  for (std::size_t point = 0; point < result.results.size(); ++point) {
    if (!result.scaling_efficiency[point]) continue;
    double& most = best[point_text(result, result.scaling_base[point], named)];
    most = std::max(most, result.at(point).samples_per_s);
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& group : best) order.emplace_back(-group.second, group.first);
  std::ranges::sort(order);
  if (order.size() > kMostLines) order.resize(kMostLines);
  for (std::size_t point = 0; point < result.results.size(); ++point) {
    if (!result.scaling_efficiency[point]) continue;
    const std::string group = point_text(result, result.scaling_base[point], named);
    if (std::ranges::find(order, group, &std::pair<double, std::string>::second) == order.end()) continue;
    set.rows.push_back({group, static_cast<double>(result.at(point).world_size),
                        100 * *result.scaling_efficiency[point], result.at(point).samples_per_s, join(titles)});
  }
  return set;
}

std::vector<Chart> sweep_charts(const SweepResult& result) {
  std::vector<Chart> charts;
  const bool any = result.without_result() < result.results.size();
  if (DataSet cells = sweep_cells(result); any && !cells.rows.empty()) {
    const bool others = drawn_dimensions(*result.sweep).size() < result.sweep->dimensions.size();
    charts.push_back(
        {"sweep-cells",
         "sweep_cells",
         "Samples per second over the axes",
         others ? "Each cell shows the best result over all values of the other axes, names these values, and says how "
                  "sure it is that nothing else is faster there."
                : "Each cell has its iteration time and what limits it. A dash means that there is no result.",
         false,
         {std::move(cells)}});
  }
  if (DataSet points = sweep_points(result); points.rows.size() > 1) {
    const std::string currency = result.currency().value_or("");
    charts.insert(
        charts.begin(),
        {"sweep-points",
         "sweep_points",
         "What a point gives and what it takes",
         "Each mark is a point of the sweep, by two figures of your choice. On the dashed line are the points "
         "that no other one beats in both.",
         false,
         {std::move(points), {"money", {"currency"}, {{currency}}}}});
  }
  if (DataSet points = sweep_scaling(result); !points.rows.empty()) {
    charts.push_back(
        {"sweep-scaling",
         "sweep_scaling",
         "Scaling efficiency",
         "Samples per second and GPU, in percent of those of the same machine with the smallest number of GPUs "
         "and the same values on the other axes. Each line is one machine with one choice of these values. The axis of "
         "percent begins near the least of them, not at 0.",
         false,
         {std::move(points)}});
  }
  return charts;
}

}  // namespace shardsim
