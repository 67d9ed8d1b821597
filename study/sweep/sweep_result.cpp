#include "study/sweep/sweep_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "base/csv.h"
#include "base/files.h"
#include "base/hdf5/hdf5.h"
#include "base/text.h"
#include "base/tree/yaml_text.h"
#include "study/sweep/axis.h"

namespace shardsim {
namespace {

using Coordinates = std::vector<std::size_t>;

// True when the points that differ on this dimension alone have worlds of different sizes.
bool does_change_world(const SweepResult& result, std::size_t dimension) {
  std::map<Coordinates, int> worlds;  // by the other coordinates
  for (std::size_t point = 0; point < result.results.size(); ++point) {
    if (!result.ok(point)) continue;
    Coordinates others = result.sweep->coordinates(point);
    others[dimension] = 0;
    const int world = result.at(point).world_size;
    if (worlds.try_emplace(std::move(others), world).first->second != world) return true;
  }
  return false;
}

double samples_per_gpu(const PointResult& result) {
  return result.samples_per_s / result.world_size;
}

// Returns the text of an axis about the machine beside its size: "{base: dgx_h100}" of {base: dgx_h100, label: big,
// nodes: 16}.
std::string machine_text(const Axis& axis, std::size_t value) {
  static const std::set<std::string, std::less<>> kNoMachine = {"nodes", "label", "cost_per_gpu_hour", "currency"};
  if (!axis.tells_machines()) return "";
  Tree tree = axis.values[value].tree;
  std::erase_if(tree.fields, [](const auto& field) { return kNoMachine.contains(field.first); });
  const Tree* const base = tree.find("base");
  return flow_text(base != nullptr && tree.fields.size() == 1 ? *base : tree);
}

using Machine = std::pair<Coordinates, std::vector<std::string>>;

// Returns what two points have in common when one scales to the other: all but the size of the machine, and what is
// zipped with that.
Machine machine_of(const SweepResult& result, std::size_t point) {
  const Coordinates at = result.sweep->coordinates(point);
  Machine machine;
  for (std::size_t d = 0; d < at.size(); ++d) {
    machine.first.push_back(result.changes_world[d] ? 0 : at[d]);
    if (!result.changes_world[d]) continue;
    for (const Axis& axis : result.sweep->dimensions[d].axes) machine.second.push_back(machine_text(axis, at[d]));
  }
  return machine;
}

// By point the smallest world of its machine: of equal ones the fastest, so that others compare with the best.
std::vector<std::size_t> smallest_worlds(const SweepResult& result) {
  std::map<Machine, std::vector<std::size_t>> machines;
  std::vector<std::size_t> smallest(result.results.size());
  for (std::size_t point = 0; point < smallest.size(); ++point) {
    smallest[point] = point;
    if (result.at(point).is_usable()) machines[machine_of(result, point)].push_back(point);
  }
  for (const auto& [machine, points] : machines) {
    const std::size_t least = *std::ranges::min_element(points, {}, [&](std::size_t point) {
      return std::pair(result.at(point).world_size, -samples_per_gpu(result.at(point)));
    });
    for (const std::size_t point : points) smallest[point] = least;
  }
  return smallest;
}

// A machine of one size alone does not scale.
std::vector<std::optional<double>> scaling(const SweepResult& result) {
  std::set<std::size_t> grown;  // smallest worlds of which there are larger ones
  for (std::size_t point = 0; point < result.results.size(); ++point) {
    const std::size_t base = result.scaling_base[point];
    if (result.at(point).world_size > result.at(base).world_size) grown.insert(base);
  }
  std::vector<std::optional<double>> efficiency(result.results.size());
  for (std::size_t point = 0; point < efficiency.size(); ++point) {
    const std::size_t base = result.scaling_base[point];
    if (result.at(point).is_usable() && grown.contains(base))
      efficiency[point] = samples_per_gpu(result.at(point)) / samples_per_gpu(result.at(base));
  }
  return efficiency;
}

// The demands of a point, less is better. Points differ in batch, so that the time is that of a sample.
struct Asked {
  double time = 0, memory = 0, cost = 0;
  bool beats(const Asked& other) const {
    return time <= other.time && memory <= other.memory && cost <= other.cost &&
           std::tie(time, memory, cost) != std::tie(other.time, other.memory, other.cost);
  }
};

std::vector<bool> pareto_front(const SweepResult& result) {
  std::vector<std::pair<Asked, std::size_t>> asked;
  const bool comparable = result.currency().has_value();
  for (std::size_t point = 0; point < result.results.size(); ++point) {
    if (!result.at(point).is_usable()) continue;
    const PointResult& here = result.at(point);
    const double cost = comparable ? result.cost_per_million_samples(point).value_or(0) : 0;
    asked.push_back({{rounded_to_digits(1 / here.samples_per_s, kEqualDigits), static_cast<double>(here.peak_bytes),
                      rounded_to_digits(cost, kEqualDigits)},
                     point});
  }
  // The best in time come first, so that whoever beats a point stands before it.
  std::ranges::sort(asked, [](const auto& a, const auto& b) {
    return std::tie(a.first.time, a.first.memory, a.first.cost, a.second) <
           std::tie(b.first.time, b.first.memory, b.first.cost, b.second);
  });
  std::vector<bool> front(result.results.size());
  std::vector<Asked> best;
  for (const auto& [here, point] : asked) {
    const bool beaten = std::ranges::any_of(best, [&here = here](const Asked& other) { return other.beats(here); });
    if (beaten) continue;
    front[point] = true;
    best.push_back(here);
  }
  return front;
}

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

SweepColumn axis_column(const Sweep& sweep, std::size_t dimension, const Axis& axis) {
  const std::optional<Amount>& first = axis.values.front().amount;
  const bool numbers = std::ranges::all_of(axis.values, [&](const AxisValue& value) {
    return value.amount && value.amount->kind == first->kind && value.amount->unit.empty() == first->unit.empty();
  });
  const std::size_t count = sweep.points.size();
  SweepColumn column{axis.path, "", "axis", {}};
  if (!numbers) {
    std::vector<std::string> texts;
    for (std::size_t point = 0; point < count; ++point)
      texts.push_back(axis.values[sweep.coordinates(point)[dimension]].text);
    column.values = std::move(texts);
    return column;
  }
  column.unit = first->unit.empty() ? "1" : first->unit;
  std::vector<double> values;
  for (std::size_t point = 0; point < count; ++point)
    values.push_back(axis.values[sweep.coordinates(point)[dimension]].amount->in_unit_of(*first));
  column.values = std::move(values);
  return column;
}

class ResultColumns {
 public:
  ResultColumns(const SweepResult& result, std::vector<SweepColumn>& columns) : result_(result), columns_(columns) {}

  void numbers(const char* name, const char* unit, const char* meaning, const auto& of) {
    std::vector<double> values;
    for (std::size_t point = 0; point < result_.results.size(); ++point) {
      const std::optional<double> value = result_.ok(point) ? std::optional<double>(of(point)) : std::nullopt;
      values.push_back(value.value_or(kNoNumber));
    }
    columns_.push_back({name, unit, meaning, std::move(values)});
  }
  void texts(const char* name, const char* meaning, const auto& of) {
    std::vector<std::string> values;
    for (const PointResult& each : result_.results) values.push_back(of(each));
    columns_.push_back({name, "", meaning, std::move(values)});
  }

 private:
  const SweepResult& result_;
  std::vector<SweepColumn>& columns_;
};

std::string currency_unit(const SweepResult& result) {
  const std::optional<std::string> common = result.currency();
  if (!common) return "currency of the point's cluster";
  return common->empty() ? "currency" : *common;
}

std::string outcome_word(PointResult::Outcome outcome) {
  switch (outcome) {
    case PointResult::Outcome::ok:
      return "ok";
    case PointResult::Outcome::does_not_fit:
      return "does_not_fit";
    case PointResult::Outcome::failed:
      return "failed";
    case PointResult::Outcome::died:
      return "died";
  }
  return "";
}

constexpr const char* kPointScale = "/point";

std::string csv_header(const SweepColumn& column) {
  const bool unit = !column.unit.empty() && column.unit != "1" && column.name.find('.') != std::string::npos;
  return csv_cell(unit ? fmt::format("{} [{}]", column.name, column.unit) : column.name);
}

std::string csv_value(const SweepColumn& column, std::size_t row) {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) return csv_cell((*texts)[row]);
  const double number = std::get<std::vector<double>>(column.values)[row];
  return std::isnan(number) ? "" : number_text(number);
}

}  // namespace

std::optional<double> SweepResult::cost_per_million_samples(std::size_t point) const {
  const PointResult& here = at(point);
  if (!ok(point) || !here.cost_per_hour) return std::nullopt;
  return *here.cost_per_hour / 3600 * 1e6 / here.samples_per_s;
}

std::optional<std::string> SweepResult::currency() const {
  std::optional<std::string> common;
  for (const PointResult& each : results) {
    if (!each.cost_per_hour) continue;
    if (common && *common != each.currency) return std::nullopt;
    common = each.currency;
  }
  return common.value_or("");
}

std::size_t SweepResult::without_result() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(results, [](const PointResult& each) { return each.outcome != PointResult::Outcome::ok; }));
}

SweepResult sweep_result(const Sweep& sweep, std::vector<PointResult> results) {
  SweepResult result{&sweep, std::move(results), {}, {}, {}, {}, {}};
  for (std::size_t d = 0; d < sweep.dimensions.size(); ++d)
    result.changes_world.push_back(does_change_world(result, d));
  result.scaling_base = smallest_worlds(result);
  result.scaling_efficiency = scaling(result);
  result.pareto = pareto_front(result);
  result.plans = plan_choices(sweep, result.results);
  return result;
}

std::vector<SweepColumn> sweep_columns(const SweepResult& result) {
  const Sweep& sweep = *result.sweep;
  std::vector<SweepColumn> columns;
  for (std::size_t d = 0; d < sweep.dimensions.size(); ++d) {
    for (const Axis& axis : sweep.dimensions[d].axes) columns.push_back(axis_column(sweep, d, axis));
  }
  constexpr double kGiBytes = 0x1p30;
  ResultColumns add(result, columns);
  const auto of = [&](std::size_t point) -> const PointResult& { return result.at(point); };
  add.texts("outcome", "ok, does_not_fit, failed or died",
            [](const PointResult& each) { return outcome_word(each.outcome); });
  add.numbers("world_size", "1", "GPUs", [&](std::size_t p) { return of(p).world_size; });
  add.numbers("batch_per_gpu", "1", "samples of a GPU in an iteration",
              [&](std::size_t p) { return static_cast<double>(of(p).batch_per_gpu); });
  add.numbers("iteration_ms", "ms", "one steady iteration", [&](std::size_t p) { return of(p).iteration_ms; });
  const auto bound = [&](std::size_t p, double Interval::*end) {
    return of(p).interval ? std::optional<double>((*of(p).interval).*end) : std::nullopt;
  };
  add.numbers("low_ms", "ms", "four iterations of five take at least so long, and at most high_ms",
              [&](std::size_t p) { return bound(p, &Interval::low_ms); });
  add.numbers("high_ms", "ms", "four iterations of five take at most so long, and at least low_ms",
              [&](std::size_t p) { return bound(p, &Interval::high_ms); });
  add.numbers("samples_per_s", "1/s", "of all GPUs", [&](std::size_t p) { return of(p).samples_per_s; });
  add.numbers("memory_gib", "GiB", "of the fullest GPU, by the memory model",
              [&](std::size_t p) { return static_cast<double>(of(p).memory_bytes) / kGiBytes; });
  add.numbers("peak_gib", "GiB", "of the fullest GPU, at its simulated peak",
              [&](std::size_t p) { return static_cast<double>(of(p).peak_bytes) / kGiBytes; });
  add.numbers("host_gib", "GiB", "rows in host memory with their optimizer states, of the node that has most of them",
              [&](std::size_t p) { return static_cast<double>(of(p).host_bytes) / kGiBytes; });
  add.numbers("memory_capacity_gib", "GiB", "of a GPU, less what is reserved",
              [&](std::size_t p) { return static_cast<double>(of(p).memory_capacity) / kGiBytes; });
  add.texts("beyond_torchrec", "why TorchRec cannot run the plan; empty where it can",
            [](const PointResult& each) { return each.beyond_torchrec; });
  add.texts("limited_by", "the busiest link or rank", [](const PointResult& each) { return each.limited_by; });
  add.numbers("limit_share", "1", "of the iteration that it is busy", [&](std::size_t p) { return of(p).limit_share; });
  const std::string currency = currency_unit(result);
  add.numbers("cost_per_hour", currency.c_str(), "cost_per_gpu_hour of the cluster times GPUs",
              [&](std::size_t p) { return of(p).cost_per_hour; });
  add.numbers("cost_per_million_samples", currency.c_str(), "what a million samples cost",
              [&](std::size_t p) { return result.cost_per_million_samples(p); });
  add.numbers("scaling_efficiency", "1", "samples per second and GPU over those of the smallest world of the machine",
              [&](std::size_t p) { return result.scaling_efficiency[p]; });
  add.numbers("pareto", "1", "1: no other point is better in time, memory and cost at once",
              [&](std::size_t p) { return result.pareto[p] ? 1.0 : 0.0; });
  add.numbers("chance", "1", "that the fastest plan for the other values is faster than this one",
              [&](std::size_t p) { return result.plans.chance[p]; });
  add.numbers("regret_pct", "%", "expected regret of choosing this plan for the other values",
              [&](std::size_t p) { return result.plans.regret_pct[p]; });
  add.texts("message", "why there is no result", [](const PointResult& each) { return each.message; });
  add.texts("outside", "what of the point was never measured, for which its range is no wider",
            [](const PointResult& each) { return each.interval ? join(each.interval->outside, "; ") : ""; });
  return columns;
}

std::string sweep_csv(const std::vector<SweepColumn>& columns) {
  std::string text = "point";
  for (const SweepColumn& column : columns) text += "," + csv_header(column);
  text += "\n";
  const std::size_t rows = std::visit([](const auto& values) { return values.size(); }, columns.front().values);
  for (std::size_t row = 0; row < rows; ++row) {
    text += fmt::format("{}", row);
    for (const SweepColumn& column : columns) text += "," + csv_value(column, row);
    text += "\n";
  }
  return text;
}

void write_sweep_hdf5(const std::string& path, const Sweep& sweep, const std::vector<SweepColumn>& columns) {
  Hdf5Writer file;
  file.text_attribute("/", "schema", "shardsim.sweep/1");
  file.text_attribute("/", "version", version());
  file.text_attribute("/", "scenario", sweep.path);
  file.text_attribute("/", "title", sweep.title);
  file.attribute<std::int64_t>("/", "seed", static_cast<std::int64_t>(sweep.seed));
  file.scale<std::int64_t>(kPointScale, sweep.points.size(), {"1", "number of the point"}, Hdf5Layout::packed);
  for (const SweepColumn& column : columns) {
    const Hdf5Meaning meaning{column.unit, column.meaning};
    if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
      file.texts("/" + column.name, *texts, kPointScale, meaning);
    } else {
      file.dataset<double>("/" + column.name, std::get<std::vector<double>>(column.values), {kPointScale}, meaning,
                           Hdf5Layout::packed);
    }
  }
  file.save(path);
}

}  // namespace shardsim
